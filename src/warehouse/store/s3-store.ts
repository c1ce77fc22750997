import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { explainFileFault, type FileStore } from './file-store.ts'
import type { S3Client } from './s3-client.ts'
import { abortUploads, putInParts } from './s3-multipart.ts'
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
