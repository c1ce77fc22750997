import { StoreError } from './file-store.ts'
import type { S3Client } from './s3-client.ts'
import { elementRecords, elementTexts } from './s3-xml.ts'

/** Stores one object from parts of at least 5 MiB (the last may be smaller). It appears when all have arrived. */
export async function putInParts(
  client: S3Client,
  key: string,
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const started = await client.send({ method: 'POST', key, query: { uploads: '' } })
  const [uploadId] = elementTexts(started.text, 'UploadId')
  if (uploadId === undefined)
    throw new StoreError(
      `${client.name}/${key} cannot be written: the store started no upload`,
      'check that lake.s3.endpoint is an S3-compatible store',
    )
  try {
    const tags: string[] = []
    for await (const part of parts) {
      const query = { partNumber: String(tags.length + 1), uploadId }
      const body = new Uint8Array(part)
      const { headers } = await client.send({ method: 'PUT', key, query, body })
      tags.push(headers.get('etag') ?? '')
    }
    const body = new Uint8Array(Buffer.from(completeBody(tags)))
    await client.send({ method: 'POST', key, query: { uploadId }, body })
  } catch (error) {
    // The first fault says more. What is left is removed at the next export.
    await client.send({ method: 'DELETE', key, query: { uploadId } }).catch(() => undefined)
    throw error
  }
}

function completeBody(tags: readonly string[]): string {
  const parts = tags.map(
    (tag, at) =>
      `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag.replaceAll('"', '&quot;')}</ETag></Part>`,
  )
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`
}

/** Ends uploads below the prefix that a killed export has left: the store would charge for their parts. */
export async function abortUploads(
  client: S3Client,
  prefix: string,
  isOwn: (path: string) => boolean,
): Promise<void> {
  const query = { uploads: '', prefix }
  let text: string
  try {
    text = (await client.send({ method: 'GET', key: '', query })).text
  } catch (error) {
    // Not every store can list them. A wrong key or bucket shows at the next request.
    if (error instanceof StoreError) return
    throw error
  }
  for (const { Key = '', UploadId = '' } of elementRecords(text, 'Upload', ['Key', 'UploadId']))
    if (Key.startsWith(prefix) && isOwn(Key.slice(prefix.length)))
      await client.send({
        ...{ method: 'DELETE', key: Key, mayBeMissing: true },
        query: { uploadId: UploadId },
      })
}
