import type { SandboxOptions } from '#src/sandbox/server.ts'
import type { ApiSession } from './api-session.ts'

/** The caller of a request: value of the key and `X-Dealer-Id`; null: the header is left out. */
export interface Who {
  readonly key: string | null
  readonly rooftop: string | null
}

/** A file of a multipart request. */
export interface FilePart {
  readonly field: string
  readonly name: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** One request by plain fetch, without our client. */
export interface Send {
  readonly method: string
  /** Below the base URL of its service; absolute addresses are taken as they are. */
  readonly path: string
  /** Default: the first AU rooftop by its partner key; ignored where `key` is set. */
  readonly who?: Who
  /** `Authorization` of the vehicle-data APIs; null = left out. Only where `isVehicleData`. */
  readonly key?: string | null
  readonly isVehicleData?: boolean
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly files?: readonly FilePart[]
  /** Of a step: the status that it has to have; default: any below 400. */
  readonly expects?: number
}

/** What came back; `body` is the JSON value, or the text where it is none. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** Something that happens before the request of a row: a request, or a move of the clock. */
export type Step = Send | ((session: ApiSession) => Send | Promise<void> | void)

/** A statement of the documents and the request that shows it. */
export interface Statement {
  readonly says: string
  readonly given?: readonly Step[]
  readonly send: Send | ((session: ApiSession) => Send)
  readonly status: number
  /** What the answer holds at least, as `toMatchObject` takes it. */
  readonly body?: unknown
  /** Properties that the answer must not have. */
  readonly lacks?: readonly string[]
  /** What a pattern cannot say. */
  readonly check?: (answer: Answer, session: ApiSession) => void | Promise<void>
  readonly limits?: NonNullable<SandboxOptions['limits']>
}

/** A statement with its place in the documents, e.g. `A §4 /entervin`. */
export interface Row extends Statement {
  readonly section: string
}

/** Statements of one section. */
export function table(section: string, statements: readonly Statement[]): Row[] {
  return statements.map((statement) => ({ section, ...statement }))
}

/** POSTs JSON; undefined sends no body. */
export function post(path: string, json?: unknown, who?: Who): Send {
  return { method: 'POST', path, json, ...(who && { who }) }
}

/** Any other method, with JSON or without a body. */
export function call(method: string, path: string, json?: unknown, who?: Who): Send {
  return { method, path, json, ...(who && { who }) }
}

/** POSTs the multipart form of `/imageupload`. */
export function upload(
  form: Readonly<Record<string, string>>,
  files: readonly FilePart[],
  who?: Who,
): Send {
  return { method: 'POST', path: '/imageupload', form, files, ...(who && { who }) }
}

/** POSTs a multipart form to the vehicle-data APIs. */
export function vehicle(
  path: string,
  form: Readonly<Record<string, string>>,
  files: readonly FilePart[] = [],
): Send {
  return { method: 'POST', path, form, files, isVehicleData: true }
}

/** The step or request with its expected status. */
export function expecting(expects: number, send: Send): Send {
  return { ...send, expects }
}
