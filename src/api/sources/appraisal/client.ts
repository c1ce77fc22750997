import { type ErrorDetails, SyncError } from '../../../errors.ts'
import { valueAt } from '../../../values/json-path.ts'
import { toUnixSeconds } from '../../../values/unix-seconds.ts'
import { type AppraisalWire, defaultWire } from '../../../values/wire.ts'
import { getEvaluation, listEvaluations, listUsers } from '../../contract/appraisal/evaluations.ts'
import type { User } from '../../contract/appraisal/shapes.ts'
import type { Effect } from '../../contract/operation.ts'
import {
  type AccessKey,
  type CallLimits,
  type RooftopAccess,
  rooftopCalls,
  type ServiceCalls,
} from '../calls.ts'
import { type CallOptions, HttpSource, type HttpSourceOptions } from '../http.ts'
import { type AnswerContext, bodyError, jsonBody, quoteError } from '../http-body.ts'
import { KeyLimiter } from '../limiter.ts'
import { SourceClock } from '../source-clock.ts'
import {
  checkEvaluationBody,
  type EvaluationList,
  isEmptyArray,
  ListPath,
  listBounds,
  otherArray,
  readList,
  readUsers,
  toEvalId,
} from './answers.ts'

/** The answer of `/geteval` as received; *vanished*: the source does not know it (400, or an empty array) [A §4]. */
type FetchedEvaluation =
  | {
      readonly kind: 'found'
      /** The JSON text: begins with `[` and ends with `]`, not parsed. */
      readonly text: string
      /** Our clock. */
      readonly fetchedAt: Date
      readonly attempts: number
    }
  | { readonly kind: 'vanished' }

/** The users of the key's whole dealer group [A §4 /getuserlist]. */
interface FetchedUsers {
  readonly text: string
  readonly users: readonly User[]
  /** Our clock. */
  readonly fetchedAt: Date
  /** Items that are not users: position in the answer, and why (never a value). */
  readonly malformed: readonly { readonly index: number; readonly issue: string }[]
}

/** The settings of a client: the config's `appraisal`, `keys`, `wire.appraisal` and `http`, completed. */
export interface AppraisalClientOptions
  extends Pick<CallLimits, 'budget' | 'useCircuitBreaker' | 'onLongBlock' | 'keyAnswers'> {
  readonly baseUrl: string
  readonly keys: Readonly<Record<string, AccessKey>> | ReadonlyMap<string, AccessKey>
  readonly wire: AppraisalWire
  readonly http: {
    readonly concurrency: number
    readonly timeoutSeconds: number
    readonly maxRetries: number
  }
  /** Our clock. Default: the system's. */
  readonly now?: () => Date
  readonly log?: HttpSourceOptions['log']
}

/** The calls of the appraisal service with their connections. `Reach` is what they may do upstream. */
interface RooftopCalls<Reach extends Effect> {
  readonly http: HttpSource
  readonly keys: ReadonlyMap<string, AccessKey>
  readonly calls: ServiceCalls<Reach>
}

/** Opens the calls of the appraisal service, over connections of their own. */
export function openRooftopCalls<Reach extends Effect>(
  options: AppraisalClientOptions,
): RooftopCalls<Reach> {
  const { baseUrl, wire, now = () => new Date(), log } = options
  const keys = new Map(options.keys instanceof Map ? options.keys : Object.entries(options.keys))
  const http = new HttpSource({
    baseUrl,
    setting: 'appraisal.baseUrl',
    connections: keys.size * options.http.concurrency + 1,
    ...options.http,
    errorPath: wire.error,
    now,
    log,
  })
  const settings = { ...defaultWire, appraisal: wire }
  const { budget, useCircuitBreaker = false } = options
  const { onLongBlock, keyAnswers } = options
  const { concurrency } = options.http
  const limits = { concurrency, budget, useCircuitBreaker, onLongBlock, keyAnswers }
  return { http, keys, calls: rooftopCalls(http, keys, settings, limits) }
}

/** The reads of the appraisal service that have a shape of their own. Rejects with SyncError, or with the reason of an aborted
 *  signal. Source: [A §4, §5, §7]. */
export class AppraisalClient {
  readonly clock: SourceClock
  readonly #http: HttpSource
  readonly #calls: ServiceCalls<'read'>
  readonly #keys: ReadonlyMap<string, AccessKey>
  readonly #wire: AppraisalWire
  readonly #now: () => Date
  readonly #listPath: ListPath
  /** By key: its newest evaluations were asked for, to see where a list has its items. */
  readonly #newestListed = new Map<string, Promise<void>>()

  /** `opened`: the calls of a client that does more; default: its own. */
  constructor(
    options: AppraisalClientOptions,
    opened: RooftopCalls<'read'> = openRooftopCalls(options),
  ) {
    const { wire, now = () => new Date() } = options
    const { http, keys, calls } = opened
    this.#http = http
    this.#keys = keys
    this.#calls = calls
    this.#wire = wire
    this.#now = now
    this.#listPath = new ListPath(wire.evalList)
    this.clock = new SourceClock(now)
  }

  /** Requests sent and repeats among them, of all rooftops. */
  get counters(): { readonly requests: number; readonly retries: number } {
    return { requests: this.#http.requests, retries: this.#http.retries }
  }

  /** Reads the source's clock from the Date header of one request without a key; any status will do.
   *  Without the header `clock` stays local and `clock.measured` false. SyncError `abort` when the source cannot be reached. */
  async measureClock(options: CallOptions = {}): Promise<void> {
    const limiter = new KeyLimiter({ max: 1 })
    const request = {
      ...options,
      method: 'GET',
      path: '',
      route: '/',
      headers: {},
      limiter,
    } as const
    try {
      const answer = await this.#http.request({ ...request, maxRetries: 2, accept: 'any' })
      const date = answer.headers.date
      if (typeof date === 'string') this.clock.measure(date, answer.requestedAt, answer.receivedAt)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      throw new SyncError('abort', error.message, { cause: error })
    }
  }

  /** Completed evaluations *created* in `[from, until)`, whole Unix seconds; `until: null` includes the most recent.
   *  SyncError: `abort` on 400, 401, 403, 404 and on an answer of another shape; `retry` once 429, 5xx or the network have outlasted the retries. [A §4 /getevallist] */
  async listEvaluations(
    rooftop: RooftopAccess,
    range: { readonly from: number; readonly until: number | null },
    options: CallOptions = {},
  ): Promise<EvaluationList> {
    const { body, ...list } = await this.#list(rooftop, range, options)
    if (list.items.length > 0) return list
    const isEmpty = await this.#listPath.isEmpty(
      body,
      async () => await this.#listNewest(rooftop, options),
      async (at, evalId) => await this.#isKnown(at, evalId, options),
    )
    if (isEmpty) return list
    const call = { operation: listEvaluations, rooftop }
    throw bodyError('abort', body, otherArray, this.#calls.context(call))
  }

  async #list(
    rooftop: RooftopAccess,
    range: { readonly from: number; readonly until: number | null },
    options: CallOptions,
  ): Promise<EvaluationList & { readonly body: unknown }> {
    const { dealerId } = rooftop
    let body: unknown
    const answer = await this.#calls.send({
      ...options,
      rooftop,
      operation: listEvaluations,
      // dealerId is a *string* that holds a JSON array [A §4].
      fields: { ...listBounds(range), ...(dealerId === null ? {} : { dealerId: `[${dealerId}]` }) },
      validate: (text, headers) => {
        body = jsonBody(text, headers)
      },
    })
    const list = readList(
      body,
      this.#wire.evalList,
      this.#calls.context({ operation: listEvaluations, rooftop }),
    )
    this.#listPath.add(body, list, rooftop)
    return { ...list, listedAt: answer.date ?? this.clock.now(), body }
  }

  /** Lists the newest evaluations of all rooftops of the key, once: longer spans until one has any. */
  async #listNewest({ uid, keyName }: RooftopAccess, options: CallOptions): Promise<void> {
    const list = async () => {
      const now = toUnixSeconds(this.clock.now())
      for (const days of [7, 60, 730]) {
        const range = { from: now - days * 86_400, until: null }
        const { items } = await this.#list({ uid, keyName, dealerId: null }, range, options)
        if (items.length > 0) return
      }
    }
    const listed = this.#newestListed.get(keyName) ?? list()
    this.#newestListed.set(keyName, listed)
    try {
      await listed
    } catch (error) {
      this.#newestListed.delete(keyName)
      throw error
    }
  }

  /** Whether `/geteval` answers this id with its evaluation. */
  async #isKnown(rooftop: RooftopAccess, evalId: number, options: CallOptions): Promise<boolean> {
    try {
      const found = await this.getEvaluation(rooftop, evalId, options)
      if (found.kind !== 'found') return false
      return toEvalId(valueAt(JSON.parse(found.text), '0.EvalID')) === evalId
    } catch (error) {
      if (error instanceof SyncError && error.errorAction === 'skip') return false
      throw error
    }
  }

  /** One evaluation, as text. SyncError: `skip` on a 2xx that is not an evaluation (an `error`, an object) or stays truncated (its `cause` is UnreadableBody);
   *  `abort` on 401, 403, 404; `retry` once 429, 5xx, HTML or the network have outlasted the retries. [A §4 /geteval] */
  async getEvaluation(
    rooftop: RooftopAccess,
    evalId: number,
    options: CallOptions = {},
  ): Promise<FetchedEvaluation> {
    const call = { operation: getEvaluation, rooftop, naturalKey: String(evalId) }
    // Made only for errors: most calls have none.
    const context = () => this.#calls.context(call)
    try {
      const answer = await this.#calls.send({
        ...options,
        ...call,
        fields: { evalid: evalId },
        accept: [400],
        validate: (text, headers) => checkEvaluationBody(text, headers, context),
      })
      if (answer.status === 400) this.#refuseMissingUser(answer.text, rooftop, context())
      if (answer.status === 400 || isEmptyArray(answer.text)) return { kind: 'vanished' }
      const { text, attempts } = answer
      return { kind: 'found', text, fetchedAt: this.#now(), attempts }
    } catch (error) {
      // A body that stays broken is a fault of the record, not of the source: it goes to quarantine with its text.
      throw skipRecord(error, context().details)
    }
  }

  /** Throws SyncError `abort` when a 400 says that a user is required. A missing evaluation has the same status, so every
   *  evaluation of the key would count as vanished [A §4 /geteval]. */
  #refuseMissingUser(
    text: string,
    { keyName }: RooftopAccess,
    { where, details, secrets }: AnswerContext,
  ): void {
    if (this.#keys.get(keyName)!.user !== null) return
    const quoted = quoteError(text, secrets, this.#wire.error)
    if (!/\buser\b.*\brequired\b|\brequire[sd]?\b.*\buser\b/i.test(quoted ?? '')) return
    const advice = `Set keys.${keyName}.user to the id or email of a user of the group.`
    const message = `${where} answered 400: "${quoted}". ${advice}`
    throw new SyncError('abort', message, { ...details, status: 400 })
  }

  /** The users of the key's dealer group. SyncError: `abort` on 400, 401, 403, 404 and on another shape; else `retry`. [A §4 /getuserlist] */
  async listUsers(
    rooftop: RooftopAccess,
    query: { readonly includeInactive: boolean },
    options: CallOptions = {},
  ): Promise<FetchedUsers> {
    let body: unknown
    const { text } = await this.#calls.send({
      ...options,
      rooftop,
      operation: listUsers,
      fields: { includeInactive: query.includeInactive },
      validate: (answer, headers) => {
        body = jsonBody(answer, headers)
      },
    })
    const list = readUsers(body, this.#calls.context({ operation: listUsers, rooftop }))
    return { ...list, text, fetchedAt: this.#now() }
  }

  /** Ends all calls in flight or waiting, and closes the connections. */
  async close(): Promise<void> {
    await this.#http.close()
  }
}

/** Turns a body that stays broken, or is too large, into SyncError `skip`: the fault is the record's, not the source's. */
function skipRecord(error: unknown, details: ErrorDetails): unknown {
  if (!(error instanceof SyncError)) return error
  const { cause, message, meaning } = error
  if (meaning !== 'brokenRecord' && meaning !== 'tooLarge') return error
  return new SyncError('skip', message, { ...details, cause, status: 200 })
}
