import type { z } from 'zod'
import type { Effect, Operation } from '../api/contract/operation.ts'
import type { Caller } from './access.ts'
import type { Rendering } from './render.ts'
import type { UploadedFile } from './request-body.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { World } from './world.ts'

/** A call of the vehicle-data APIs with a valid key and valid fields. */
export interface VehicleCall<F = Record<string, unknown>> {
  readonly fields: F
  readonly files: readonly UploadedFile[]
  readonly now: Date
  readonly service: SandboxState
}

/** An authorised call of the appraisal service. */
export interface Call<F = Record<string, unknown>> extends VehicleCall<F> {
  /** The body as sent, by wire names, including unknown fields. */
  readonly sent: unknown
  readonly caller: Caller
  readonly world: World
  readonly rendering: Rendering
  /** A silent cap to apply to the list. */
  readonly listCap:
    | { readonly cap: number; readonly order: 'newest' | 'oldest' | 'arbitrary' }
    | undefined
}

/** An answer with its own status. Any other value is the body of the documented success. */
export class Answer {
  readonly status: number
  readonly body: unknown

  constructor(status: number, body: unknown) {
    this.status = status
    this.body = body
  }
}

type Reply = unknown | Promise<unknown>

/** One operation as the sandbox serves it. */
export interface Endpoint {
  readonly operation: Operation
  /** Throws a `Refusal` for every other documented status. */
  readonly answer: (call: Call) => Reply
  /** The status for a field that is missing or malformed, where it is not 400. */
  readonly invalid: Readonly<Record<string, number>>
}

/** Serves an operation of the appraisal service. */
export function serve<S extends z.ZodRawShape, A>(
  operation: Operation<Effect, S, A>,
  answer: (call: Call<z.output<z.ZodObject<S>>>) => Reply,
  invalid: Readonly<Record<string, number>> = {},
): Endpoint {
  return { operation, answer: answer as Endpoint['answer'], invalid }
}

/** Serves an operation of the vehicle-data APIs. */
export function serveVehicleData<S extends z.ZodRawShape, A>(
  operation: Operation<Effect, S, A>,
  answer: (call: VehicleCall<z.output<z.ZodObject<S>>>) => Reply,
): Endpoint {
  return serve(operation, answer as (call: Call<z.output<z.ZodObject<S>>>) => Reply)
}
