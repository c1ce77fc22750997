import type { z } from 'zod'
import { errorText, SyncError } from '../../errors.ts'
import type { WireSettings } from '../../values/wire.ts'
import type { Effect, Operation } from '../contract/operation.ts'
import type { Call, ServiceCalls } from './calls.ts'
import type { CallOptions, HttpAnswer } from './http.ts'
import { type AnswerContext, bodyError, jsonBody, requireJson } from './http-body.ts'

/** A call of one operation, whose fields are typed by it. */
export interface ServiceCall<F>
  extends CallOptions,
    Pick<Call<Effect>, 'rooftop' | 'files' | 'naturalKey'> {
  readonly fields: F
}

/** A 2xx answer. */
export interface ServiceAnswer<A> {
  readonly status: number
  /** The parsed JSON; null when a body that is not documented is empty. */
  readonly body: unknown
  readonly text: string
  /** The source's time of the answer, where it sent one. */
  readonly date: Date | null
  /** The answer as documented. SyncError `skip` when the body has another shape. */
  answer(): A
}

/** What a client is made of; both parts have the same reach. */
interface ServiceClientParts<Reach extends Effect> {
  readonly appraisal: ServiceCalls<Reach>
  readonly vehicleData: ServiceCalls<Reach>
  readonly wire: WireSettings
  /** The effects that are allowed at run time, as the type says at compile time. */
  readonly reach: readonly Reach[]
}

/** Any documented operation of both services, typed by its declaration. A client of reach `read` takes no operation that
 *  writes or bills: the compiler refuses it, and so does `call`. Rejects with SyncError, or the reason of an aborted signal. */
export class ServiceClient<Reach extends Effect> {
  readonly #parts: ServiceClientParts<Reach>

  constructor(parts: ServiceClientParts<Reach>) {
    this.#parts = parts
  }

  /** Sends one call. ZodError when the fields do not fit; TypeError when the operation is beyond this client's reach. */
  async call<S extends z.ZodRawShape, A>(
    operation: Operation<Reach, S, A>,
    call: ServiceCall<z.input<z.ZodObject<S>>>,
  ): Promise<ServiceAnswer<A>> {
    const { appraisal, vehicleData, wire, reach } = this.#parts
    if (!reach.includes(operation.effect))
      throw new TypeError(
        `${operation.name} is a ${operation.effect}: this client may not call it.`,
      )
    // A read that was cut off is sent again; a write has taken effect, whatever its answer.
    const check = operation.repeatable ? jsonBody : requireJson
    const validate: typeof requireJson = (text, headers) => {
      if (text.trim() !== '' || !operation.mayBeEmpty) check(text, headers)
    }
    const fields = operation.fields.parse(call.fields)
    const calls = operation.service === 'vehicleData' ? vehicleData : appraisal
    const sent = { ...call, fields, validate, operation: operation as Operation<Reach> }
    const answer = await calls.send(sent)
    const context = calls.context(sent)
    const body = parseBody(answer, context)
    // A 2xx body with `error` is an error [A §4 /entervin].
    if (isError(body)) throw bodyError('skip', body, '', context)
    return {
      status: answer.status,
      body,
      text: answer.text,
      date: answer.date,
      answer: () => readAnswer(operation, body, wire, context),
    }
  }
}

/** The parsed body. SyncError `skip` when a 2xx body cannot be read: the call took effect, so it must not be sent again. */
function parseBody({ text, headers, status }: HttpAnswer, context: AnswerContext): unknown {
  if (text.trim() === '') return null
  try {
    return jsonBody(text, headers)
  } catch (cause) {
    const message = `The answer of ${context.where} cannot be read: ${errorText(cause)}.`
    throw new SyncError('skip', message, { ...context.details, cause, status })
  }
}

function isError(body: unknown): boolean {
  if (body === null || typeof body !== 'object' || !Object.hasOwn(body, 'error')) return false
  const { error } = body as { error: unknown }
  return typeof error === 'string' && error !== ''
}

function readAnswer<S extends z.ZodRawShape, A>(
  { read }: Operation<Effect, S, A>,
  body: unknown,
  wire: WireSettings,
  context: AnswerContext,
): A {
  try {
    return read(body, wire)
  } catch (cause) {
    const issues = (cause as z.ZodError).issues ?? []
    // Paths and codes alone: a value may be a customer.
    const places = issues.map(({ path, code }) => `${path.join('.') || 'body'} (${code})`)
    const message = `The answer of ${context.where} is of another shape than documented: ${places.join(', ')}.`
    throw new SyncError('skip', message, { ...context.details, status: 200 })
  }
}
