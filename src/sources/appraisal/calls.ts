import { SyncError } from '../../errors.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { AttemptReport, HttpAnswer, HttpRequest, HttpSource } from '../http.ts'
import type { AnswerContext } from '../http-fault.ts'
import { KeyLimiter } from '../limiter.ts'
import { type AccessKey, headersOf, keyAdvice, type RooftopAccess, subjectOf } from './access.ts'

/** `signal` ends a call at once (it rejects with the signal's reason); `onAttempt` is told of every request that was sent. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly onAttempt?: ((attempt: AttemptReport) => void) | undefined
}

/** A read on behalf of a rooftop. `naturalKey` is the EvalID where there is one. */
export interface RooftopCall extends CallOptions, Pick<HttpRequest, 'accept' | 'validate'> {
  readonly path: string
  readonly rooftop: RooftopAccess
  readonly body: Readonly<Record<string, unknown>>
  readonly naturalKey?: string
}

/** Sends the reads of the appraisal service with the rooftop's key; a key's rooftops share one limiter.
 *  SyncError `abort` when a rooftop names an unknown key, and on 401 and 403 [A §5.1]. */
export class RooftopCalls {
  readonly #http: HttpSource
  readonly #keys: ReadonlyMap<string, AccessKey>
  readonly #limiters = new Map<string, KeyLimiter>()
  readonly #wire: AppraisalWire

  constructor(
    http: HttpSource,
    keys: ReadonlyMap<string, AccessKey>,
    wire: AppraisalWire,
    concurrency: number,
  ) {
    this.#http = http
    this.#keys = keys
    this.#wire = wire
    for (const name of keys.keys()) this.#limiters.set(name, new KeyLimiter({ max: concurrency }))
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

  /** What errors about an answer's body need to know. */
  context(rooftop: RooftopAccess, path: string, naturalKey?: string): AnswerContext {
    const where = `POST ${path} ${subjectOf(rooftop, naturalKey)}`
    const details = {
      rooftopUid: rooftop.uid,
      ...(naturalKey === undefined ? {} : { naturalKey }),
    }
    return { where, details, secrets: [this.keyOf(rooftop).value] }
  }

  /** One POST, repeated while it may help. */
  async post({ rooftop, naturalKey, body, ...call }: RooftopCall): Promise<HttpAnswer> {
    const key = this.keyOf(rooftop)
    const refused = { verdict: 'abort', advice: keyAdvice(rooftop, key) } as const
    return this.#http.request({
      ...call,
      method: 'POST',
      headers: headersOf(rooftop, key, this.#wire),
      body: JSON.stringify(body),
      limiter: this.#limiters.get(rooftop.keyName)!,
      retryable: true,
      subject: subjectOf(rooftop, naturalKey),
      details: this.context(rooftop, call.path, naturalKey).details,
      rulings: { 401: refused, 403: refused },
    })
  }
}
