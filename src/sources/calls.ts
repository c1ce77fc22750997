import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { FormData } from 'undici'
import { getEvaluation } from '../contract/appraisal/evaluations.ts'
import {
  type Effect,
  type FieldValues,
  type Operation,
  pathFields,
  withQuery,
} from '../contract/operation.ts'
import { type ErrorDetails, SyncError } from '../errors.ts'
import type { AppraisalWire, WireSettings } from '../values/wire.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { CallOptions, HttpAnswer, HttpRequest, HttpSource } from './http.ts'
import type { AnswerContext } from './http-body.ts'
import { KeyLimiter, type OpenBudget } from './limiter.ts'

/** What a call needs to know about a rooftop. `uid` goes into X-Dealer-Id for a partner key, `dealerId` filters `/getevallist` [A §5.3, §4]. */
export interface RooftopAccess {
  readonly uid: string
  readonly dealerId: number | null
  readonly keyName: string
}

/** An API key of the config; `user` is for `/geteval` alone. */
export interface AccessKey {
  readonly name: string
  readonly value: string
  readonly kind: 'partner' | 'dedicated'
  readonly region: 'AU' | 'US' | 'GCC'
  readonly user: string | null
}

/** A call of an operation. `naturalKey` is what it is about, for messages: an EvalID or a VIN. `files` are paths on the disk. */
export interface Call<Reach extends Effect>
  extends CallOptions,
    Pick<HttpRequest, 'accept' | 'validate' | 'maxRetries'> {
  readonly operation: Operation<Reach>
  readonly fields: FieldValues
  readonly files?: readonly string[]
  readonly naturalKey?: string
}

/** The limits of the calls of each key. */
export interface CallLimits {
  /** Requests at once. */
  readonly concurrency: number
  /** Default: no further limit. */
  readonly budget?: OpenBudget | undefined
  /** Stops using a key that is refused for many rooftops: for runs, which have many. Default: every rooftop is tried. */
  readonly useCircuitBreaker?: boolean
}

/** Sends the calls of the appraisal service with the rooftop's key; a key's rooftops share one limiter. `Reach` is what
 *  the calls may do upstream. SyncError `abort` when a rooftop names an unknown key, and on 401 and 403 [A §5.1]. */
export class RooftopCalls<Reach extends Effect> {
  readonly #http: HttpSource
  readonly #keys: ReadonlyMap<string, AccessKey>
  readonly #limiters = new Map<string, KeyLimiter>()
  readonly #wire: WireSettings
  readonly #circuitBreaker: CircuitBreaker | undefined

  constructor(
    http: HttpSource,
    keys: ReadonlyMap<string, AccessKey>,
    wire: WireSettings,
    limits: CallLimits,
  ) {
    this.#http = http
    this.#keys = keys
    this.#wire = wire
    this.#circuitBreaker = limits.useCircuitBreaker ? new CircuitBreaker() : undefined
    for (const name of keys.keys()) this.#limiters.set(name, openLimiter(name, limits))
  }

  /** `undefined` when there is no such key. */
  limiterOf(keyName: string): KeyLimiter | undefined {
    return this.#limiters.get(keyName)
  }

  /** The key of a rooftop. */
  keyOf(rooftop: RooftopAccess): AccessKey {
    const key = this.#keys.get(rooftop.keyName)
    if (key) return key
    throw new SyncError(
      'abort',
      `Rooftop ${rooftop.uid} names key ${rooftop.keyName}, which is not under keys: of the config.`,
      { rooftopUid: rooftop.uid },
    )
  }

  /** The context for errors about an answer's body. */
  context(operation: Operation, rooftop: RooftopAccess, naturalKey?: string): AnswerContext {
    const where = `${nameOf(operation, this.#wire)} ${subjectOf(rooftop, naturalKey)}`
    const secrets = [this.keyOf(rooftop).value]
    return { where, details: detailsOf(naturalKey, rooftop), secrets }
  }

  /** Sends one call. Repeats it while that may help, unless a repeat could take effect twice. */
  async send({
    rooftop,
    ...call
  }: Call<Reach> & { readonly rooftop: RooftopAccess }): Promise<HttpAnswer> {
    const { operation, naturalKey } = call
    const key = this.keyOf(rooftop)
    const { uid: rooftopUid, keyName } = rooftop
    const isPartner = key.kind === 'partner'
    const partnerAdvice = isPartner
      ? ` and that it may read rooftop ${rooftopUid} (X-Dealer-Id)`
      : ''
    const send = async () =>
      await this.#http.request({
        ...(await requestOf(
          { ...call, fields: withUser(operation, call.fields, key) },
          headersOf(rooftop, key, this.#wire.appraisal),
          this.#wire,
        )),
        limiter: this.#limiters.get(keyName)!,
        keyAdvice: `Check the value of key ${key.name}${partnerAdvice}.`,
        subject: subjectOf(rooftop, naturalKey),
        details: detailsOf(naturalKey, rooftop),
      })
    const use = { keyName, operation: operation.name, rooftopUid }
    return await (this.#circuitBreaker?.run(use, send) ?? send())
  }
}

/** Sends the calls of the vehicle-data APIs with their one key [V §5]. SyncError `abort` when the config has none. */
export class VehicleDataCalls<Reach extends Effect> {
  readonly #http: HttpSource
  readonly #apiKey: string | null
  readonly #wire: WireSettings
  readonly #limiter: KeyLimiter

  constructor(http: HttpSource, apiKey: string | null, wire: WireSettings, limits: CallLimits) {
    this.#http = http
    this.#apiKey = apiKey
    this.#wire = wire
    this.#limiter = openLimiter(null, limits)
  }

  /** The context for errors about an answer's body. */
  context(operation: Operation, naturalKey?: string): AnswerContext {
    const where = `${nameOf(operation, this.#wire)}${naturalKey ? ` for ${naturalKey}` : ''}`
    const secrets = this.#apiKey === null ? [] : [this.#apiKey]
    return { where, details: detailsOf(naturalKey), secrets }
  }

  /** Sends one call. Repeats it while that may help, unless a repeat could take effect twice. */
  async send(call: Call<Reach>): Promise<HttpAnswer> {
    const { naturalKey } = call
    if (this.#apiKey === null)
      throw new SyncError(
        'abort',
        'The config has no vehicleData.apiKey: set it to call the vehicle-data APIs.',
      )
    return await this.#http.request({
      ...(await requestOf(call, { authorization: this.#apiKey }, this.#wire)),
      limiter: this.#limiter,
      keyAdvice: 'Check vehicleData.apiKey.',
      ...(naturalKey && { subject: `for ${naturalKey}` }),
      details: detailsOf(naturalKey),
    })
  }
}

function openLimiter(keyName: string | null, { concurrency, budget }: CallLimits): KeyLimiter {
  return new KeyLimiter({ max: concurrency, budget: budget && ((key) => budget(keyName, key)) })
}

function nameOf(operation: Operation, wire: WireSettings): string {
  const { method, path } = operation.transport(wire)
  return `${method} ${path}`
}

function detailsOf(naturalKey?: string, rooftop?: RooftopAccess): ErrorDetails {
  return { ...(rooftop && { rooftopUid: rooftop.uid }), ...(naturalKey && { naturalKey }) }
}

function subjectOf(rooftop: RooftopAccess, evalId?: string): string {
  const evaluation = evalId === undefined ? '' : `for evaluation ${evalId} `
  return `${evaluation}of rooftop ${rooftop.uid} (key ${rooftop.keyName})`
}

/** The headers of a call. A partner key names its rooftop; a dedicated key is bound to its own and names none [A §5.2, §5.3]. */
function headersOf(
  rooftop: RooftopAccess,
  key: AccessKey,
  { authHeader, authPrefix }: AppraisalWire,
): Record<string, string> {
  const dealer = key.kind === 'partner' ? { 'X-Dealer-Id': rooftop.uid } : {}
  return { [authHeader]: authPrefix + key.value, ...dealer }
}

/** Adds the key's `user` to the fields of `/geteval`, the one operation that may need it. In the list it would narrow the
 *  answer to one salesperson [A §4]. */
function withUser(operation: Operation, fields: FieldValues, { user }: AccessKey): FieldValues {
  const isMissing = user !== null && fields['user'] === undefined
  return operation.name === getEvaluation.name && isMissing ? { ...fields, user } : fields
}

/** Makes the request of a call with the configured wire names. Files are streamed from the disk when it is sent.
 *  Rejects with the file's error when one cannot be opened. */
async function requestOf<Reach extends Effect>(
  { operation, fields, files = [], naturalKey: _, ...call }: Call<Reach>,
  headers: Readonly<Record<string, string>>,
  wire: WireSettings,
) {
  const { method, path: template, encoding } = operation.transport(wire)
  const { path, rest } = splitPath(template, fields)
  const sent = operation.toWire(rest, wire)
  const { timeoutSeconds } = operation
  const request = { ...call, contract: operation, timeoutSeconds, method, path, headers }
  switch (encoding) {
    case 'query':
      return { ...request, path: withQuery(path, queryOf(sent)) }
    case 'json': {
      const type = { 'content-type': 'application/json' }
      return { ...request, headers: { ...headers, ...type }, body: JSON.stringify(sent) }
    }
    case 'form':
      // The form sets its own content type, with the boundary.
      return { ...request, body: await formOf(operation, sent, files, wire) }
  }
}

/** Fills in the fields that the path names, and returns the rest. */
function splitPath(
  template: string,
  fields: FieldValues,
): { readonly path: string; readonly rest: FieldValues } {
  const named = template.includes('{') ? pathFields(template) : []
  const path = named.reduce(
    (filled, name) => filled.replace(`{${name}}`, () => encodeURIComponent(String(fields[name]))),
    template,
  )
  const rest = Object.entries(fields).filter(
    ([name, value]) => value !== undefined && !named.includes(name),
  )
  return { path, rest: Object.fromEntries(rest) }
}

function queryOf(sent: FieldValues): string {
  const texts = Object.entries(sent).map(([name, value]) => [name, textOf(value)])
  return new URLSearchParams(texts).toString()
}

async function formOf(
  { file }: Operation,
  sent: FieldValues,
  files: readonly string[],
  wire: WireSettings,
): Promise<FormData> {
  const form = new FormData()
  for (const [name, value] of Object.entries(sent)) form.append(name, textOf(value))
  for (const path of files)
    form.append(file!.name(wire), await openAsBlob(path, { type: imageType(path) }), basename(path))
  return form
}

function imageType(path: string): string {
  if (/\.png$/i.test(path)) return 'image/png'
  return /\.jpe?g$/i.test(path) ? 'image/jpeg' : 'application/octet-stream'
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
