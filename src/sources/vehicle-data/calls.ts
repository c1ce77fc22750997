import { SyncError } from '../../errors.ts'
import type { Effect, Operation } from '../../contract/operation.ts'
import type { WireSettings } from '../../values/wire.ts'
import type { HttpAnswer, HttpRequest, HttpSource } from '../http.ts'
import type { AnswerContext } from '../http-fault.ts'
import { KeyLimiter } from '../limiter.ts'
import { type CallContent, requestOf } from '../request-of.ts'
import { statusActionsOf } from '../status-actions.ts'
import type { CallLimits, CallOptions } from '../appraisal/calls.ts'

/** A call of the vehicle-data APIs. `naturalKey` is what it is about, e.g. a VIN, for messages. */
export interface VehicleDataCall<Reach extends Effect>
  extends CallOptions,
    CallContent,
    Pick<HttpRequest, 'accept' | 'validate'> {
  readonly operation: Operation<Reach>
  readonly naturalKey?: string
}

const refused = 'Check vehicleData.apiKey.'

/** Sends the calls of the vehicle-data APIs with their one key [V §5]. SyncError `abort` when the config has none. */
export class VehicleDataCalls<Reach extends Effect> {
  readonly #http: HttpSource
  readonly #apiKey: string | null
  readonly #wire: WireSettings
  readonly #limiter: KeyLimiter

  constructor(
    http: HttpSource,
    apiKey: string | null,
    wire: WireSettings,
    { concurrency, budget }: Pick<CallLimits, 'concurrency' | 'budget'>,
  ) {
    this.#http = http
    this.#apiKey = apiKey
    this.#wire = wire
    this.#limiter = new KeyLimiter({
      max: concurrency,
      budget: budget && ((key) => budget(null, key)),
    })
  }

  /** The context for errors about an answer's body. */
  context(operation: Operation, naturalKey?: string): AnswerContext {
    const { method, path } = operation.transport(this.#wire)
    const details = naturalKey === undefined ? {} : { naturalKey }
    const where = `${method} ${path}${naturalKey === undefined ? '' : ` for ${naturalKey}`}`
    return { where, details, secrets: this.#apiKey === null ? [] : [this.#apiKey] }
  }

  /** Sends one call. Repeats it while that may help, unless a repeat could take effect twice. */
  async send({
    operation,
    naturalKey,
    fields,
    files = [],
    ...call
  }: VehicleDataCall<Reach>): Promise<HttpAnswer> {
    if (this.#apiKey === null)
      throw new SyncError(
        'abort',
        'The config has no vehicleData.apiKey: set it to call the vehicle-data APIs.',
      )
    const { contentType, ...request } = await requestOf(operation, { fields, files }, this.#wire)
    const type = contentType === null ? {} : { 'content-type': contentType }
    return this.#http.request({
      ...call,
      ...request,
      headers: { authorization: this.#apiKey, ...type },
      limiter: this.#limiter,
      retryable: operation.repeatable,
      ...(operation.timeoutSeconds === null ? {} : { timeoutSeconds: operation.timeoutSeconds }),
      ...(naturalKey === undefined ? {} : { subject: `for ${naturalKey}` }),
      details: this.context(operation, naturalKey).details,
      statusActions: statusActionsOf(operation, refused),
    })
  }
}
