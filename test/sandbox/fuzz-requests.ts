import fc from 'fast-check'
import type { Operation } from '#src/api/contract/operation.ts'
import { allOperations } from '#src/api/contract/operations.ts'
import { samples } from '#src/sandbox/samples.ts'
import { defaultWire } from '#src/values/wire.ts'
import { type FuzzCaller, fieldsOf, type Issued, odd } from './fuzz-fields.ts'

// Requests that no client would send, mixed with valid ones.

/** One request, ready for fetch. */
export interface FuzzRequest {
  readonly service: Operation['service']
  readonly method: string
  /** Below the origin. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
}

/** Valid values for requests. */
export interface Pools {
  readonly callers: readonly FuzzCaller[]
  readonly vehicleDataKey: string
  readonly issued: Issued
  /** A readable image. */
  readonly image: Uint8Array<ArrayBuffer>
}

/** Any request: usually a documented operation, valid or broken. */
export function fuzzRequest(pools: Pools): fc.Arbitrary<FuzzRequest> {
  const documented = allOperations.map((operation) => requestOf(operation, pools))
  return fc.oneof(
    { weight: 2000, arbitrary: fc.oneof(...documented) },
    { weight: 150, arbitrary: nowhere(pools) },
    { weight: 2, arbitrary: oversize(pools) },
  )
}

function requestOf(operation: Operation, pools: Pools): fc.Arbitrary<FuzzRequest> {
  const fitting = pools.callers.filter(
    ({ region }) => operation.region === null || region === operation.region,
  )
  const caller = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...fitting) },
    fc.constantFrom(...pools.callers),
  )
  return caller.chain((one) => requestBy(one, operation, pools))
}

function requestBy(
  caller: FuzzCaller,
  operation: Operation,
  pools: Pools,
): fc.Arbitrary<FuzzRequest> {
  const { method, path, encoding } = operation.transport(defaultWire)
  const { service } = operation
  return fc
    .record({
      fields: fieldsOf(operation, caller, pools.issued),
      headers: headersFor(service, caller, pools),
      shape: fc.oneof(
        { weight: 12, arbitrary: fc.constant(encoding) },
        { weight: 1, arbitrary: fc.constantFrom('json', 'form', 'query', 'broken') },
      ),
      bodies: bodiesFor(operation, pools),
    })
    .map(({ fields, headers, shape, bodies }) => {
      const named = path.replaceAll(/\{(\w+)\}/g, (_all, name) => inPath(fields[name]))
      const root = service === 'appraisal' ? '/v1' : ''
      const query = shape === 'query' ? queryOf(fields) : ''
      const request = { service, method, path: `${root}${named}${query}`, headers }
      if (method === 'GET' || shape === 'query') return { ...request, body: undefined }
      const { type, body } =
        shape === 'form' ? formOf(fields, bodies) : jsonOf(fields, shape, bodies)
      return { ...request, headers: { 'content-type': type, ...headers }, body }
    })
}

interface Bodies {
  readonly file: Uint8Array<ArrayBuffer> | undefined
  readonly fileField: string
  readonly fileName: string
  /** Share of the form that arrives; 1 = all of it. */
  readonly fraction: number
  readonly type: string | undefined
  readonly garbage: unknown
}

function bodiesFor({ file }: Operation, { image }: Pools): fc.Arbitrary<Bodies> {
  const whole = fc.constant(image)
  const cut = fc.integer({ min: 0, max: image.length }).map((length) => image.slice(0, length))
  const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Uint8Array.from(bytes))
  const some = fc.oneof({ weight: 6, arbitrary: whole }, cut, noise)
  return fc.record({
    file: file === null ? fc.constant(undefined) : fc.option(some, { freq: 8, nil: undefined }),
    fileField: fc.oneof(
      { weight: 9, arbitrary: fc.constant(file?.name(defaultWire) ?? 'file') },
      fc.constantFrom('photo', '', 'evalid'),
    ),
    fileName: fc.constantFrom(
      'a.jpg',
      `${samples.gccSingle.vin}.jpg`,
      '',
      '../../x.png',
      '\u00e9.png',
    ),
    fraction: fc.oneof(
      { weight: 10, arbitrary: fc.constant(1) },
      fc.double({ min: 0, max: 1, noNaN: true }),
    ),
    type: fc.oneof(
      { weight: 14, arbitrary: fc.constant(undefined) },
      fc.constantFrom(
        'text/plain',
        'multipart/form-data',
        'nonsense',
        'application/json; charset=x',
      ),
    ),
    garbage: odd,
  })
}

function jsonOf(fields: object, shape: string, { type, garbage, fraction }: Bodies) {
  const value = fraction < 0.05 ? garbage : fields
  const text = JSON.stringify(value) ?? ''
  const body = shape === 'broken' ? text.slice(0, Math.floor(text.length * fraction * 0.9)) : text
  return { type: type ?? 'application/json', body }
}

const boundary = 'forecourt-fuzz-boundary'

/** A multipart form by hand, so that it can be broken. */
function formOf(fields: Readonly<Record<string, unknown>>, bodies: Bodies) {
  const { file, fileField, fileName, fraction, type } = bodies
  const parts = Object.entries(fields).map(([name, value]) =>
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name.replaceAll(/["\r\n]/g, '')}"` +
        `\r\n\r\n${typeof value === 'string' ? value : JSON.stringify(value)}\r\n`,
    ),
  )
  if (file !== undefined)
    parts.push(
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${fileField}"; ` +
          `filename="${fileName}"\r\ncontent-type: image/jpeg\r\n\r\n`,
      ),
      Buffer.from(file),
      Buffer.from('\r\n'),
    )
  const whole = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
  const body = Uint8Array.from(whole.subarray(0, Math.ceil(whole.length * fraction)))
  return { type: type ?? `multipart/form-data; boundary=${boundary}`, body }
}

function queryOf(fields: Readonly<Record<string, unknown>>): string {
  const query = Object.entries(fields).map(([name, value]) => `${inPath(name)}=${inPath(value)}`)
  return query.length === 0 ? '' : `?${query.join('&')}`
}

/** Encoded; a lone surrogate, which cannot be, becomes the replacement character. */
function inPath(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return encodeURIComponent(text.toWellFormed().slice(0, 2000))
}

const latin = fc
  .string({ unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)) })
  .filter((text) => !text.includes('\u007f'))

function headersFor(
  service: Operation['service'],
  { key, rooftop }: FuzzCaller,
  { callers, vehicleDataKey }: Pools,
): fc.Arbitrary<Record<string, string>> {
  const header = (name: string, usual: string, others: readonly string[]) =>
    fc
      .oneof(
        { weight: 40, arbitrary: fc.constant(usual) },
        { weight: 1, arbitrary: fc.constantFrom(...others) },
        { weight: 1, arbitrary: latin },
        { weight: 1, arbitrary: fc.constant(undefined) },
      )
      .map((value) => (value === undefined ? {} : { [name]: value }))
  const extra = fc.oneof(
    { weight: 12, arbitrary: fc.constant({}) },
    fc.constantFrom(
      ...[{ accept: 'image/*' }, { 'x-http-method-override': 'DELETE' }, { cookie: 'a=b' }],
      ...[{ 'content-encoding': 'gzip' }, { range: 'bytes=0-1' }, { 'if-none-match': '*' }],
    ),
  )
  return fc
    .tuple(
      header(
        'authorization',
        service === 'appraisal' ? key : vehicleDataKey,
        callers.map((one) => one.key),
      ),
      header(
        'x-dealer-id',
        rooftop,
        callers.map((one) => one.rooftop),
      ),
      extra,
    )
    .map((parts) => Object.assign({}, ...parts))
}

/** Unknown methods and paths. */
function nowhere(pools: Pools): fc.Arbitrary<FuzzRequest> {
  const segment = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }).map(inPath),
    fc.constantFrom(
      'geteval',
      'v1',
      '%ff',
      '%00',
      '..%2f',
      '%2e%2e',
      '',
      'photos',
      'pdf',
      '1',
      '*',
    ),
  )
  const paths = fc.array(segment, { maxLength: 5 }).map((parts) => `/v1/${parts.join('/')}`)
  const known = fc.constantFrom(
    ...allOperations.map((one) => `/v1${one.transport(defaultWire).path.replace(/^\/v1/, '')}`),
  )
  return fc.record({
    service: fc.constantFrom('appraisal' as const, 'vehicleData' as const),
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'FOO'),
    path: fc.oneof(paths, known),
    headers: headersFor('appraisal', pools.callers[0]!, pools),
    body: fc.constant(undefined),
  })
}

/** Beyond what the sandbox takes: a JSON of more than 1 MiB. */
function oversize(pools: Pools): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      path: fc.constantFrom('/v1/geteval', '/v1/dcupdateeval', '/v1/nothing'),
      headers: headersFor('appraisal', pools.callers[0]!, pools),
    })
    .map(({ path, headers }) => ({
      service: 'appraisal' as const,
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ vin: 'x'.repeat(1_500_000) }),
    }))
}
