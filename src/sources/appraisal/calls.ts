import { SyncError } from '../../errors.ts'
import type { Effect, Operation } from '../../contract/operation.ts'
import type { WireSettings } from '../../values/wire.ts'
import type { AttemptReport, HttpAnswer, HttpRequest, HttpSource, WhileWaiting } from '../http.ts'
import type { AnswerContext, StatusAction } from '../http-fault.ts'
import { KeyLimiter, type OpenBudget } from '../limiter.ts'
import { CircuitBreaker } from '../circuit-breaker.ts'
import { type CallContent, requestOf } from '../request-of.ts'
import {
  type AccessKey,
  headersOf,
  keyAdvice,
  withUser,
  type RooftopAccess,
  subjectOf,
} from './access.ts'

/** `signal` ends a call at once: it rejects with the signal's reason. `onAttempt` is called after every request,
 *  `whileWaiting` with every wait before a retry. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly onAttempt?: ((attempt: AttemptReport) => void) | undefined
  readonly whileWaiting?: WhileWaiting | undefined
}

/** A call on behalf of a rooftop. `naturalKey` is the EvalID where there is one. */
export interface RooftopCall<Reach extends Effect>
  extends CallOptions,
    CallContent,
    Pick<HttpRequest, 'accept' | 'validate' | 'maxRetries'> {
  readonly operation: Operation<Reach>
  readonly rooftop: RooftopAccess
  readonly naturalKey?: string
  /** What to do about a status. Default: 401 and 403 are about the key. */
  readonly statusActions?: (refused: string) => Readonly<Record<number, StatusAction>>
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
    { concurrency, budget, useCircuitBreaker = false }: CallLimits,
  ) {
    this.#http = http
    this.#keys = keys
    this.#wire = wire
    this.#circuitBreaker = useCircuitBreaker ? new CircuitBreaker() : undefined
    for (const name of keys.keys()) {
      const limiter = new KeyLimiter({
        max: concurrency,
        budget: budget && ((key) => budget(name, key)),
      })
      this.#limiters.set(name, limiter)
    }
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
    const { method, path } = operation.transport(this.#wire)
    const where = `${method} ${path} ${subjectOf(rooftop, naturalKey)}`
    const details = {
      rooftopUid: rooftop.uid,
      ...(naturalKey === undefined ? {} : { naturalKey }),
    }
    return { where, details, secrets: [this.keyOf(rooftop).value] }
  }

  /** Sends one call. Repeats it while that may help, unless a repeat could take effect twice. */
  async send(call: RooftopCall<Reach>): Promise<HttpAnswer> {
    const { rooftop, operation, statusActions } = call
    // With status actions of the caller's own, a refusal may be about the evaluation or the region [A §7].
    const breaker = statusActions === undefined ? this.#circuitBreaker : undefined
    if (breaker === undefined) return await this.#send(call)
    const { keyName, uid: rooftopUid } = rooftop
    const use = { keyName, operation: operation.name, rooftopUid }
    return await breaker.run(use, () => this.#send(call))
  }

  async #send({
    operation,
    rooftop,
    naturalKey,
    fields,
    files = [],
    statusActions = keyErrorActions,
    ...call
  }: RooftopCall<Reach>): Promise<HttpAnswer> {
    const key = this.keyOf(rooftop)
    const content = { fields: withUser(operation, fields, key), files }
    const { contentType, ...request } = await requestOf(operation, content, this.#wire)
    return this.#http.request({
      ...call,
      ...request,
      headers: headersOf(rooftop, key, this.#wire.appraisal, contentType),
      limiter: this.#limiters.get(rooftop.keyName)!,
      retryable: operation.repeatable,
      ...(operation.timeoutSeconds === null ? {} : { timeoutSeconds: operation.timeoutSeconds }),
      subject: subjectOf(rooftop, naturalKey),
      details: this.context(operation, rooftop, naturalKey).details,
      statusActions: statusActions(keyAdvice(rooftop, key)),
    })
  }
}

function keyErrorActions(advice: string): Readonly<Record<number, StatusAction>> {
  const refused: StatusAction = { errorAction: 'abort', advice }
  return { 401: refused, 403: refused }
}
