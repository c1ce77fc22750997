import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import type { S3Settings } from '../../app/config/lake.ts'
import { errorText } from '../../errors.ts'
import { sleep } from '../../values/sleep.ts'
import { StoreError } from './file-store.ts'
import { elementTexts } from './s3-xml.ts'

/** A bucket and the key to it. */
interface S3Address extends S3Settings {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly bucket: string
}

/** One request. All of them can be repeated: they read, or store the same bytes under the same name. */
interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Empty: the bucket itself. */
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  /** Answers with 404 instead of an error where there is no such key. */
  readonly mayBeMissing?: boolean
  /** Stores nothing, and answers with 412, where there is such a key. */
  readonly ifAbsent?: boolean
}

/** An answer with its whole body. */
interface S3Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  /** The bytes as text. */
  readonly text: string
}

const maxTries = 6
const timeoutMs = 120_000
const firstWaitMs = 200
const longestWaitMs = 20_000

/** Sends signed requests to one bucket, and repeats those that failed on the way or at a busy store. */
export class S3Client {
  /** For messages. */
  readonly name: string
  /** Of the bucket. */
  readonly url: string
  readonly #address: S3Address
  readonly #signal: AbortSignal

  constructor(address: S3Address, signal: AbortSignal) {
    const { bucket, endpoint, region, pathStyle } = address
    const home = endpoint ?? `https://s3.${region}.amazonaws.com`
    const isPath = pathStyle ?? endpoint !== null
    this.url = isPath ? `${home}/${bucket}` : home.replace('://', `://${bucket}.`)
    this.name = `s3://${bucket}`
    this.#address = address
    this.#signal = signal
  }

  /** Sends a request until it is answered; StoreError when it is refused, or still fails after all tries. */
  async send(request: S3Request): Promise<S3Answer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#try(request)
      if (!('failed' in answer)) return answer
      if (tries === maxTries) throw this.#unanswered(request, answer.failed)
      // Full jitter spreads the repeats of parallel uploads.
      const longest = Math.min(longestWaitMs, firstWaitMs * 2 ** tries)
      await sleep(Math.random() * longest, [this.#signal])
    }
  }

  /** An answer, or why the request can be repeated. */
  async #try(request: S3Request): Promise<S3Answer | { readonly failed: string }> {
    let answer: S3Answer
    try {
      answer = await this.#exchange(request)
    } catch (error) {
      this.#signal.throwIfAborted()
      const { cause } = error as Error
      return { failed: errorText(cause ?? error) }
    }
    const { status, text } = answer
    // The end of a multipart upload may answer 200 with an error in its body.
    const [code = ''] = text.includes('<Error>') ? elementTexts(text, 'Code') : []
    if (status < 300 && code === '') return answer
    if (status === 404 && request.mayBeMissing && code !== 'NoSuchBucket') return answer
    if (status === 412 && request.ifAbsent) return answer
    if (isTemporary(status, code)) return { failed: `it answered ${status} ${code}`.trim() }
    throw this.#refused(request, answer, code)
  }

  async #exchange({ method, key, query = {}, body, ifAbsent }: S3Request): Promise<S3Answer> {
    const url = new URL(this.url + (key === '' ? '' : `/${encodePath(key)}`))
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const { accessKeyId, secretAccessKey, sessionToken, region } = this.#address
    const signer = new AwsV4Signer({
      ...{ method, url: url.href, accessKeyId, secretAccessKey, region, service: 's3' },
      ...(sessionToken === null ? {} : { sessionToken }),
      // The store compares it with what arrived.
      headers: {
        'x-amz-content-sha256': sha256(body ?? new Uint8Array()),
        ...(ifAbsent === true ? { 'if-none-match': '*' } : {}),
      },
    })
    const signed = await signer.sign()
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)])
    const { headers } = signed
    const response = await fetch(signed.url, {
      ...{ method, headers, signal, redirect: 'manual' as const },
      ...(body === undefined ? {} : { body }),
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    return { status: response.status, headers: response.headers, bytes, text: String(bytes) }
  }

  #refused({ method, key }: S3Request, answer: S3Answer, code: string): StoreError {
    const { status, text, headers } = answer
    const [detail = ''] = code === '' ? [] : elementTexts(text, 'Message')
    const { bucket, region } = this.#address
    const what = method === 'GET' ? 'read' : method === 'DELETE' ? 'removed' : 'written'
    const reason = [String(status), code, detail && `(${detail})`].filter(Boolean).join(' ')
    return new StoreError(
      `${this.name}/${key} cannot be ${what}: the store answered ${reason}`,
      adviceFor(code, status, {
        ...{ bucket, region },
        home: headers.get('x-amz-bucket-region') ?? elementTexts(text, 'Region')[0],
      }),
    )
  }

  #unanswered({ key }: S3Request, reason: string): StoreError {
    const { origin } = new URL(this.url)
    return new StoreError(
      `${this.name}/${key} failed ${maxTries} times at ${origin}: ${reason}`,
      'check that the store runs, lake.s3.endpoint and lake.s3.region',
    )
  }
}

function isTemporary(status: number, code: string): boolean {
  if (status === 501 || status === 505) return false
  return (
    status >= 500 ||
    status === 408 ||
    status === 429 ||
    /^(SlowDown|InternalError|RequestTimeout|OperationAborted|IncompleteBody|ConditionalRequestConflict)$/.test(
      code,
    )
  )
}

function encodePath(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/')
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Where a request went. `home`: the region of the bucket, if the store names it. */
interface BucketLocation {
  readonly bucket: string
  readonly region: string
  readonly home: string | undefined
}

/** What to do about an error code of S3. */
function adviceFor(code: string, status: number, { bucket, region, home }: BucketLocation): string {
  if (code === 'NoSuchBucket') return `create the bucket ${bucket}, or correct lake.to`
  if (code === 'InvalidBucketName') return 'correct the bucket in lake.to'
  if (/^(InvalidAccessKeyId|SignatureDoesNotMatch|MissingSecurityHeader)$/.test(code))
    return 'correct lake.s3.accessKeyId and lake.s3.secretAccessKey'
  if (/^(ExpiredToken|InvalidToken|TokenRefreshRequired)$/.test(code))
    return 'renew lake.s3.sessionToken and its key'
  if (isRegionFault(code, status))
    return `correct lake.s3.region (${region}) or lake.s3.endpoint: the bucket is in ${home ?? 'another region'}`
  // The answer to the end of an upload was lost, and the store forgets an upload that has ended.
  if (code === 'NoSuchUpload') return 'check the line to the store'
  if (code === 'RequestTimeTooSkewed') return 'set the clock of this machine'
  if (code === 'AccessDenied' || status === 401 || status === 403)
    return `allow the key to list, read, write and delete in the bucket ${bucket}`
  return 'correct lake.to and lake.s3'
}

function isRegionFault(code: string, status: number): boolean {
  return (
    status === 301 ||
    status === 307 ||
    /^(AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|IllegalLocationConstraintException|InvalidRegion)$/.test(
      code,
    )
  )
}
