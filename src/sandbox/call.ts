import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Caller } from './access.ts'
import type { CapOrder } from './faults.ts'
import { Refusal } from './refusal.ts'
import type { Rendering } from './render.ts'
import type { World } from './world.ts'

/** An authorised call, with all that an endpoint needs to answer it. */
export interface Call {
  /** The JSON body; `{}` when there was none. */
  readonly body: unknown
  readonly caller: Caller
  readonly now: Date
  readonly world: World
  readonly rendering: Rendering
  /** A silent cap that is to be put on the list. */
  readonly listCap: { readonly cap: number; readonly order: CapOrder } | undefined
}

/** Answers a call with the JSON body of a 200, or throws a `Refusal`. */
export type Endpoint = (call: Call) => unknown

/** Endpoints by their path without `/v1`. */
export type EndpointTable = Readonly<Record<string, Endpoint>>

/** What arrived, before anyone asked who sent it. */
export interface RawCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The parsed body; undefined when there is none. */
  readonly body: unknown
  /** Why the body could not be read; null when it could. */
  readonly bodyError: string | null
}

/** Reads the body as JSON; what is wrong with it is told later, after the key has been looked at. */
export function readBody(
  text: unknown,
  contentType: string | undefined,
): Pick<RawCall, 'body' | 'bodyError'> {
  if (typeof text !== 'string' || text === '') return { body: undefined, bodyError: null }
  if (!/^application\/json\b/i.test(contentType ?? ''))
    return { body: undefined, bodyError: 'The body has to be application/json' }
  try {
    return { body: JSON.parse(text), bodyError: null }
  } catch (error) {
    return { body: undefined, bodyError: `The body is not JSON: ${(error as Error).message}` }
  }
}

/** `evalid` of a body of any shape. */
export function evalIdIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'evalid' in body ? body.evalid : undefined
}

/** The body in the shape that an endpoint asks for; 400 with the fields that do not fit. */
export function fittingBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const issues = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new Refusal(400, issues.join('; '))
}
