import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { expect, test, vi } from 'vitest'
import { DeltaLog } from '#src/warehouse/lake/delta-log.ts'
import { commitPath, newFilePath } from '#src/warehouse/lake/paths.ts'
import { until } from '../../support/child.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openS3Store, type S3Store, targetOf } from './s3-store.ts'

vi.setConfig({ testTimeout: 120_000 })

const large = 40 * 1024 * 1024 + 17
const file = `dim_date/${newFilePath(undefined)}`

/** A store, and a local file that is sent in three parts. */
async function openLarge() {
  const store = await openS3Store()
  const folder = await temporaryFolder()
  const bytes = randomBytes(large)
  const local = join(folder.path, 'large')
  await writeFile(local, bytes)
  return {
    ...{ store, local, bytes },
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Waits until the first part of an upload is on the disk of the server. */
async function untilFirstPart({ directory }: S3Store): Promise<void> {
  await until(async () => {
    const files = await readdir(directory, { recursive: true })
    return files.some((name) => /uploads.*\/1$/.test(name))
  })
}

/** As another client than ours reads it. */
async function read({ s3, bucket }: S3Store): Promise<Buffer> {
  const { endpoint, ...key } = s3
  const client = new AwsClient({ ...key, service: 's3' })
  const answer = await client.fetch(`${endpoint}/${bucket}/forecourt/${file}`)
  return Buffer.from(await answer.arrayBuffer())
}

test('a large file is sent in parts and arrives whole', async () => {
  await using large = await openLarge()
  const target = targetOf(large.store)

  await target.put(file, large.local)

  expect((await target.list()).get(file)).toBe(large.bytes.length)
  expect(Buffer.compare(await read(large.store), large.bytes)).toBe(0)
})

test('an endpoint that breaks in the middle of an upload and comes back gets the file whole', {
  tags: 'ci',
}, async () => {
  await using large = await openLarge()
  const target = targetOf(large.store)

  const sent = target.put(file, large.local)
  await untilFirstPart(large.store)
  await large.store.line.be('refuse')
  await large.store.line.be('pass')
  await sent

  expect(Buffer.compare(await read(large.store), large.bytes)).toBe(0)
})

test('an endpoint that breaks in the middle of an upload and stays away leaves no file', {
  tags: 'ci',
}, async () => {
  await using large = await openLarge()
  const target = targetOf(large.store)

  const sent = target.put(file, large.local).catch((error: unknown) => error)
  await untilFirstPart(large.store)
  await large.store.line.be('refuse')
  const fault = (await sent) as Error
  await large.store.line.be('pass')

  expect(fault.message).toMatch(
    new RegExp(`^s3://analytics/forecourt/${file} failed 6 times at http://127`),
  )
  expect((await target.list()).has(file)).toBe(false)
  expect((await readFile(large.local)).length).toBe(large.bytes.length)
})

test('a store with more files than one answer lists is listed whole', { tags: 'ci' }, async () => {
  await using store = await openS3Store()
  const target = targetOf(store)
  const paths = Array.from(
    { length: 1050 },
    (_, at) => `fact_evaluation/${newFilePath(`2026-${String((at % 12) + 1).padStart(2, '0')}`)}`,
  )
  for (let at = 0; at < paths.length; at += 50)
    await Promise.all(
      paths.slice(at, at + 50).map((path) => target.putBytes(path, Buffer.from(path))),
    )

  const sizes = await target.list()

  expect([...sizes.keys()].sort()).toEqual(paths.toSorted())
  expect([...sizes].filter(([path, size]) => size !== path.length)).toEqual([])
})

/** A store that lists uploads, as Amazon's does: that of the tests cannot. */
async function openListingStore(uploads: readonly string[]) {
  const requests: string[] = []
  const answer = ({ method, url = '' }: IncomingMessage) => {
    requests.push(`${method} ${url}`)
    if (method !== 'GET' || !url.includes('uploads')) return ''
    const found = uploads.map(
      (key, at) => `<Upload><Key>${key}</Key><UploadId>id-${at}</UploadId></Upload>`,
    )
    return `<ListMultipartUploadsResult>${found.join('')}</ListMultipartUploadsResult>`
  }
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(answer(request)))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const s3 = { endpoint, region: 'us-east-1', accessKeyId: 'key', secretAccessKey: 'secret' }
  return {
    ...{ requests, s3, bucket: 'analytics' },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('the next export ends the uploads that a killed one left, and those alone', async () => {
  await using store = await openListingStore([`forecourt/${file}`, 'forecourt/backup.zip', file])
  const target = targetOf(store)

  await target.prepare((path) => path === file)
  await target.close()

  const ended = store.requests.filter((request) => request.startsWith('DELETE'))
  expect(ended).toEqual([`DELETE /analytics/forecourt/${file}?uploadId=id-0`])
})

/** A store that knows `If-None-Match`, as Amazon's does: that of the tests ignores it. */
async function openConditionalStore() {
  const objects = new Map<string, string>()
  let cuts = 0
  const requests: string[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { method, url = '' } = request
      const key = url.replace('/analytics/forecourt/', '')
      requests.push(`${method} ${key} ${request.headers['if-none-match'] ?? ''}`.trim())
      if (method === 'GET') {
        const found = objects.get(key)
        response.writeHead(found === undefined ? 404 : 200).end(found)
        return
      }
      if (request.headers['if-none-match'] === '*' && objects.has(key)) {
        response.writeHead(412).end('<Error><Code>PreconditionFailed</Code></Error>')
        return
      }
      objects.set(key, String(Buffer.concat(pieces)))
      // The object is stored, and the answer is lost.
      if (cuts-- > 0) response.destroy()
      else response.end()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const s3 = { endpoint, region: 'us-east-1', accessKeyId: 'key', secretAccessKey: 'secret' }
  return {
    ...{ objects, requests, s3, bucket: 'analytics' },
    cut: (count: number) => {
      cuts = count
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('a commit is stored only where there is none, and meets its own after a cut connection', async () => {
  await using store = await openConditionalStore()
  const target = targetOf(store)
  const log = await DeltaLog.open(target, 'dim_date', { commits: [], checkpoints: [] })
  const other = await DeltaLog.open(target, 'dim_date', { commits: [], checkpoints: [] })
  const change = {
    ...{ at: 1, removedUntil: 0, removed: [], added: [] },
    metaData: { id: 'x', schemaString: '{}', partitionColumns: [], configuration: {} },
  }

  store.cut(1)
  await log.commit(change)
  const own = store.objects.get(`dim_date/${commitPath(0)}`)
  await expect(other.commit(change)).rejects.toThrow(
    /^Another program has written version 0 of the table dim_date/,
  )

  expect(store.objects.get(`dim_date/${commitPath(0)}`)).toBe(own)
  const puts = store.requests.filter((request) => request.startsWith('PUT'))
  expect(puts).toEqual([`PUT dim_date/${commitPath(0)} *`, `PUT dim_date/${commitPath(0)} *`])
})
