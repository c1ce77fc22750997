import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { FormData } from 'undici'
import { type ErrorDetails, SyncError } from '../../errors.ts'
import type { WireSettings } from '../../values/wire.ts'
import { getEvaluation, listEvaluations, listUsers } from '../contract/appraisal/evaluations.ts'
import {
  barePath,
  type Effect,
  type FieldValues,
  type Operation,
  pathFields,
  withQuery,
} from '../contract/operation.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { CallOptions, HttpAnswer, HttpRequest, HttpSource } from './http.ts'
import type { AnswerContext } from './http-body.ts'
import { appraisalKey, keyToCheck, vehicleDataKey } from './key-advice.ts'
import { KeyLimiter, type OpenBudget } from './limiter.ts'
import { isKeyAccepted } from './status-rules.ts'

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
  /** Where the config takes the value from, for messages; left out: not known. */
  readonly source?: string | undefined
  readonly kind: 'partner' | 'dedicated'
  readonly region: 'AU' | 'US' | 'GCC'
  readonly user: string | null
}

/** A call of an operation. Only the appraisal service needs `rooftop`. `naturalKey` is what it is about, for messages: an EvalID or a VIN.
 *  `files` are paths on the disk. */
export interface Call<Reach extends Effect>
  extends CallOptions,
    Pick<HttpRequest, 'accept' | 'validate' | 'maxRetries'> {
  readonly operation: Operation<Reach>
  readonly rooftop?: RooftopAccess | undefined
  readonly fields: FieldValues
  readonly files?: readonly string[]
  readonly naturalKey?: string
}

/** Where a key was answered: by its name in `ops.rate_budget`. `rooftopUid` is empty for a key without rooftops. */
interface KeyUse {
  readonly key: string
  readonly rooftopUid: string
  readonly operation: string
}

/** Receives whether the source accepts the keys. */
export interface KeyAnswers {
  accepted(use: KeyUse): void
  /** `status` and `answer` are undefined when the call was not sent, because the key was refused at other rooftops. */
  refused(use: KeyUse, refusal: Pick<SyncError, 'status' | 'answer'>): void
}

/** The limits of the calls of each key. */
export interface CallLimits {
  /** Requests at once. */
  readonly concurrency: number
  /** Default: no further limit. */
  readonly budget?: OpenBudget | undefined
  /** Stops using a key that is refused for many rooftops: for runs, which have many. Default: every rooftop is tried. */
  readonly useCircuitBreaker?: boolean
  /** Called when nothing will be sent with a key for 10 seconds or more. */
  readonly onLongBlock?: ((keyName: string | null, until: Date) => void) | undefined
  readonly keyAnswers?: KeyAnswers | undefined
}

/** How a call uses a service: with which key, and what messages say about it. */
interface Access {
  readonly secret: string
  /** The key's name in `ops.rate_budget`. */
  readonly key: string
  /** Where the key may be refused alone; empty: everywhere or nowhere. */
  readonly rooftopUid: string
  readonly headers: Readonly<Record<string, string>>
  readonly limiter: KeyLimiter
  /** What to check when the key is refused. */
  readonly keyAdvice: string
  /** The user to read as, for `/geteval` alone: in the list it would narrow the answer to one salesperson [A §4]. */
  readonly user: string | null
  /** Follows the path in messages; empty: nothing. */
  readonly subjectOf: (naturalKey: string | undefined) => string
}

/** Reads whose refusal counts against the key: at others it may be about the evaluation, the rooftop or the region [A §7]. */
const readsOfKey: readonly string[] = [listEvaluations.name, getEvaluation.name, listUsers.name]

/** Sends the calls of one service. `Reach` is what the calls may do upstream. SyncError `abort` without a usable key. */
export class ServiceCalls<Reach extends Effect> {
  readonly #http: HttpSource
  readonly #wire: WireSettings
  readonly #accessOf: (operation: Operation, rooftop: RooftopAccess | undefined) => Access
  readonly #circuitBreaker: CircuitBreaker | undefined
  readonly #keyAnswers: KeyAnswers | undefined

  constructor(
    http: HttpSource,
    wire: WireSettings,
    accessOf: (operation: Operation, rooftop: RooftopAccess | undefined) => Access,
    {
      circuitBreaker,
      keyAnswers,
    }: { circuitBreaker?: CircuitBreaker | undefined } & Pick<CallLimits, 'keyAnswers'> = {},
  ) {
    this.#http = http
    this.#wire = wire
    this.#accessOf = accessOf
    this.#circuitBreaker = circuitBreaker
    this.#keyAnswers = keyAnswers
  }

  /** The context for errors about an answer's body. */
  context(call: Pick<Call<Reach>, 'operation' | 'rooftop' | 'naturalKey'>): AnswerContext {
    const { operation, rooftop, naturalKey } = call
    const { method, path } = operation.transport(this.#wire)
    const { subjectOf, secret, key } = this.#accessOf(operation, rooftop)
    const where = [method, path, subjectOf(naturalKey)].filter(Boolean).join(' ')
    return { where, details: { ...errorDetails(call), key }, secrets: [secret] }
  }

  /** Sends one call. Repeats it while that may help, unless a repeat could take effect twice. */
  async send(call: Call<Reach>): Promise<HttpAnswer> {
    const { operation, rooftop, naturalKey } = call
    const access = this.#accessOf(operation, rooftop)
    const { limiter, keyAdvice, key } = access
    const send = async () => {
      const request = await buildRequest(call, access, this.#wire)
      const subject = access.subjectOf(naturalKey)
      return await this.#http.request({
        ...request,
        ...{ limiter, keyAdvice, subject, details: { ...errorDetails(call), key } },
      })
    }
    const use = { key, rooftopUid: access.rooftopUid, operation: operation.name }
    return await this.#reportAnswer(use, async () => {
      if (
        rooftop === undefined ||
        this.#circuitBreaker === undefined ||
        !readsOfKey.includes(operation.name)
      )
        return await send()
      const { keyName, uid: rooftopUid } = rooftop
      const { operation: name } = use
      return await this.#circuitBreaker.run({ keyName, operation: name, rooftopUid }, send)
    })
  }

  async #reportAnswer(use: KeyUse, send: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    try {
      const answer = await send()
      this.#keyAnswers?.accepted(use)
      return answer
    } catch (error) {
      if (error instanceof SyncError) {
        if (error.meaning === 'keyRefused') this.#keyAnswers?.refused(use, error)
        else if (isKeyAccepted(error)) this.#keyAnswers?.accepted(use)
      }
      throw error
    }
  }
}

/** The calls of the appraisal service, with the rooftop's key; a key's rooftops share one limiter. */
export function rooftopCalls<Reach extends Effect>(
  http: HttpSource,
  keys: ReadonlyMap<string, AccessKey>,
  wire: WireSettings,
  limits: CallLimits,
): ServiceCalls<Reach> {
  const limiters = new Map([...keys.keys()].map((name) => [name, openLimiter(name, limits)]))
  const { authHeader, authPrefix } = wire.appraisal
  const accessOf = ({ name }: Operation, rooftop: RooftopAccess | undefined): Access => {
    if (rooftop === undefined) throw new TypeError(`${name} needs a rooftop.`)
    const { uid, keyName } = rooftop
    const key = keys.get(keyName)
    if (key === undefined)
      throw new SyncError(
        'abort',
        `Rooftop ${uid} names key ${keyName}, which is not under keys: of the config.`,
        { rooftopUid: uid },
      )
    // A partner key names its rooftop; a dedicated key is bound to its own and names none [A §5.2, §5.3].
    const isPartner = key.kind === 'partner'
    const partnerAdvice = isPartner ? ` and that it may read rooftop ${uid} (X-Dealer-Id)` : ''
    return {
      ...{ secret: key.value, key: appraisalKey(key.name), rooftopUid: uid },
      headers: { [authHeader]: authPrefix + key.value, ...(isPartner && { 'X-Dealer-Id': uid }) },
      limiter: limiters.get(keyName)!,
      keyAdvice: `Check ${keyToCheck(appraisalKey(key.name), key.source)}${partnerAdvice}.`,
      user: key.user,
      subjectOf: (evalId) =>
        `${evalId === undefined ? '' : `for evaluation ${evalId} `}of rooftop ${uid} (key ${keyName})`,
    }
  }
  const circuitBreaker = limits.useCircuitBreaker ? new CircuitBreaker() : undefined
  const { keyAnswers } = limits
  return new ServiceCalls(http, wire, accessOf, { circuitBreaker, keyAnswers })
}

/** The calls of the vehicle-data APIs, with their one key [V §5]; null: the config has none. */
export function vehicleDataCalls<Reach extends Effect>(
  http: HttpSource,
  {
    apiKey,
    apiKeySource,
  }: { readonly apiKey: string | null; readonly apiKeySource?: string | undefined },
  wire: WireSettings,
  limits: CallLimits,
): ServiceCalls<Reach> {
  const limiter = openLimiter(null, limits)
  const accessOf = (): Access => {
    if (apiKey === null)
      throw new SyncError(
        'abort',
        'The config has no vehicleData.apiKey: set it to call the vehicle-data APIs.',
      )
    return {
      ...{ secret: apiKey, key: vehicleDataKey, rooftopUid: '' },
      headers: { authorization: apiKey },
      limiter,
      keyAdvice: `Check ${keyToCheck(vehicleDataKey, apiKeySource)}.`,
      user: null,
      subjectOf: (naturalKey) => (naturalKey === undefined ? '' : `for ${naturalKey}`),
    }
  }
  return new ServiceCalls(http, wire, accessOf, { keyAnswers: limits.keyAnswers })
}

function openLimiter(
  keyName: string | null,
  { concurrency, budget, onLongBlock }: CallLimits,
): KeyLimiter {
  return new KeyLimiter({
    max: concurrency,
    budget: budget && ((key) => budget(keyName, key)),
    onLongBlock: onLongBlock && ((until) => onLongBlock(keyName, until)),
  })
}

function errorDetails({
  rooftop,
  naturalKey,
}: Pick<Call<Effect>, 'rooftop' | 'naturalKey'>): ErrorDetails {
  return { ...(rooftop && { rooftopUid: rooftop.uid }), ...(naturalKey && { naturalKey }) }
}

/** Makes the request of a call with the configured wire names. Files are streamed from the disk when it is sent.
 *  Rejects with the file's error when one cannot be opened. */
async function buildRequest<Reach extends Effect>(
  { operation, fields: given, files = [], naturalKey: _, rooftop: __, ...call }: Call<Reach>,
  { headers, user }: Access,
  wire: WireSettings,
) {
  const needsUser = user !== null && operation.name === getEvaluation.name
  const fields = needsUser && given['user'] === undefined ? { ...given, user } : given
  const { method, path: template, encoding } = operation.transport(wire)
  const { path, rest } = splitPath(template, fields)
  const sent = operation.toWire(rest, wire)
  const { timeoutSeconds } = operation
  const route = barePath(template)
  const request = { ...call, contract: operation, timeoutSeconds, method, path, route, headers }
  switch (encoding) {
    case 'query':
      return { ...request, path: withQuery(path, queryText(sent)) }
    case 'json': {
      const type = { 'content-type': 'application/json' }
      return { ...request, headers: { ...headers, ...type }, body: JSON.stringify(sent) }
    }
    case 'form':
      // The form sets its own content type, with the boundary.
      return { ...request, body: await buildForm(operation, sent, files, wire) }
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

function queryText(sent: FieldValues): string {
  const texts = Object.entries(sent).map(([name, value]) => [name, fieldText(value)])
  return new URLSearchParams(texts).toString()
}

async function buildForm(
  { file }: Operation,
  sent: FieldValues,
  files: readonly string[],
  wire: WireSettings,
): Promise<FormData> {
  const form = new FormData()
  for (const [name, value] of Object.entries(sent)) form.append(name, fieldText(value))
  for (const path of files)
    form.append(file!.name(wire), await openAsBlob(path, { type: imageType(path) }), basename(path))
  return form
}

function imageType(path: string): string {
  if (/\.png$/i.test(path)) return 'image/png'
  return /\.jpe?g$/i.test(path) ? 'image/jpeg' : 'application/octet-stream'
}

function fieldText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
