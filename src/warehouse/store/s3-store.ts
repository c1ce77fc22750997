import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { explainFileFault, type FileStore, StoreError } from './file-store.ts'
import type { S3Client } from './s3-client.ts'
import { elementRecords, elementTexts } from './s3-xml.ts'

/** The size from which a file is sent in parts. */
const partBytes = 16 * 1024 * 1024

/** A lake below a prefix of a bucket. S3 stores an object whole or not at all. */
export class S3FileStore implements FileStore {
  readonly name: string
  readonly #client: S3Client
  readonly #prefix: string
  /** One for each address, so that the next export finds what a killed one left. */
  readonly #scratch: string
  #isPrepared = false

  constructor(client: S3Client, prefix: string) {
    this.#client = client
    this.#prefix = prefix === '' ? '' : `${prefix}/`
    this.name = `${client.name}/${this.#prefix}`.replace(/\/$/, '')
    const address = createHash('sha256').update(`${client.url}/${this.#prefix}`).digest('hex')
    this.#scratch = path.join(tmpdir(), `forecourt-lake-${address.slice(0, 16)}`)
  }

  async prepare(isOwn: (path: string) => boolean): Promise<string> {
    try {
      await rm(this.#scratch, { recursive: true, force: true })
      await mkdir(this.#scratch, { mode: 0o700 })
      this.#isPrepared = true
    } catch (error) {
      throw explainFileFault(error, this.#scratch)
    }
    await abortUploads(this.#client, this.#prefix, isOwn)
    return this.#scratch
  }

  async read(file: string): Promise<Buffer | null> {
    const key = this.#prefix + file
    const { status, bytes } = await this.#client.send({ method: 'GET', key, mayBeMissing: true })
    return status === 404 ? null : bytes
  }

  async list(): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>()
    let token: string | undefined
    do {
      const query = {
        ...{ 'list-type': '2', prefix: this.#prefix },
        ...(token === undefined ? {} : { 'continuation-token': token }),
      }
      const { text } = await this.#client.send({ method: 'GET', key: '', query })
      for (const { Key = '', Size } of elementRecords(text, 'Contents', ['Key', 'Size']))
        sizes.set(Key.slice(this.#prefix.length), Number(Size))
      token = elementTexts(text, 'NextContinuationToken')[0]
    } while (token !== undefined)
    return sizes
  }

  async put(file: string, localFile: string): Promise<void> {
    const key = this.#prefix + file
    const { size } = await stat(localFile)
    if (size > partBytes) await sendParts(this.#client, key, localFile)
    else
      await this.#client.send({
        method: 'PUT',
        key,
        body: new Uint8Array(await readFile(localFile)),
      })
    await rm(localFile, { force: true })
  }

  async putBytes(file: string, bytes: Uint8Array): Promise<void> {
    const body = new Uint8Array(bytes)
    await this.#client.send({ method: 'PUT', key: this.#prefix + file, body })
  }

  async create(file: string, text: string): Promise<boolean> {
    // A store that ignores the condition of the request still leaves what is there alone.
    if ((await this.read(file)) !== null) return false
    const body = new Uint8Array(Buffer.from(text))
    const key = this.#prefix + file
    const { status } = await this.#client.send({ method: 'PUT', key, body, ifAbsent: true })
    return status !== 412
  }

  async remove(file: string): Promise<void> {
    await this.#client.send({ method: 'DELETE', key: this.#prefix + file, mayBeMissing: true })
  }

  async close(): Promise<void> {
    // Another export may have files there, when this one has not started.
    if (this.#isPrepared)
      await rm(this.#scratch, { recursive: true, force: true }).catch(() => undefined)
  }
}

async function sendParts(client: S3Client, key: string, localFile: string): Promise<void> {
  await using handle = await open(localFile, 'r')
  await putInParts(
    client,
    key,
    handle.createReadStream({ highWaterMark: partBytes, autoClose: false }),
  )
}

/** Stores one object from parts of at least 5 MiB (the last may be smaller). It appears when all have arrived. */
async function putInParts(
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
async function abortUploads(
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
