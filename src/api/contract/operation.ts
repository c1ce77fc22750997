import { z } from 'zod'
import type { WireSettings } from '../../values/wire.ts'
import type { ShownAnswer } from './reading.ts'
import { fromText } from './text-fields.ts'

/** What a call does upstream: nothing, a change, or a charge. Jobs and streams reach `read` alone. */
export type Effect = 'read' | 'write' | 'bill'
export type ServiceName = 'appraisal' | 'vehicleData'
export type Region = 'AU' | 'US' | 'GCC'
/** How the fields that are not part of the path are sent; a form is multipart. */
type Encoding = 'query' | 'json' | 'form'
/** The daily allowance of the config that a billable call is taken from. */
export type Budget = 'ppsrSearch' | 'carHistory' | 'historyCheck' | 'prediction'

/** How a call is sent. The path is below the base URL and may hold a query; a field replaces `{field}` in it. */
interface Transport {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly encoding: Encoding
}

/** Fields by name: ours, or the wire's. */
export type FieldValues = Readonly<Record<string, unknown>>
type Names = Readonly<Record<string, string>>

/** A file field of a multipart request; its bytes never pass through the schema. */
interface FileField {
  readonly name: (wire: WireSettings) => string
  readonly required: boolean
  readonly several: boolean
  readonly description: string
}

/** An answer does not hold a field that polling needs, at the path of this setting. */
export class MissingField extends Error {
  override readonly name = 'MissingField'

  constructor(setting: string) {
    super(
      `holds nothing at the path of wire.${setting}: set it to the path of the field in the answer`,
    )
  }
}

/** How an asynchronous operation is polled. */
export interface Polling {
  /** Name of the operation that is polled. */
  readonly operation: string
  /** Fields of the poll, read out of the first answer; null = there is nothing to wait for. Throws MissingField. */
  readonly fields: (body: unknown, sent: FieldValues, wire: WireSettings) => FieldValues | null
  /** `percent` from 0 to 100; null where only "not yet" and "done" are known. Throws MissingField. */
  readonly progress: (
    body: unknown,
    wire: WireSettings,
  ) => { readonly done: boolean; readonly percent: number | null }
  /** Between two polls, in seconds. */
  readonly everySeconds: number
  /** The longest wait, in seconds. */
  readonly maxWaitSeconds: number
}

/** One documented operation as data: the client calls and the sandbox answers by it, `forecourt api` and the OpenAPI document are
 *  made from it. `S` is the shape of its fields, `A` the documented answer. */
export interface Operation<
  E extends Effect = Effect,
  S extends z.ZodRawShape = z.ZodRawShape,
  A = unknown,
> {
  /** The path's own name: what follows `forecourt api`. */
  readonly name: string
  readonly aliases: readonly string[]
  readonly service: ServiceName
  readonly effect: E
  readonly transport: (wire: WireSettings) => Transport
  /** Whether a call without an answer may simply be sent again. */
  readonly repeatable: boolean
  /** How long an answer may take at least; null = the default timeout. */
  readonly timeoutSeconds: number | null
  readonly summary: string
  /** Document and section, e.g. `[A §4]`. */
  readonly source: string
  readonly fields: z.ZodObject<S>
  /** What is missing or does not go together by the document, so that the call could only be refused; null: nothing. */
  readonly problem: (fields: FieldValues, fileCount: number) => string | null
  readonly file: FileField | null
  /** Whether a success may come without a body: nothing of it is shown. */
  readonly mayBeEmpty: boolean
  /** Of the documented success. */
  readonly status: 200 | 201
  /** Every other documented status and when it is given. */
  readonly statuses: Readonly<Record<number, string>>
  /** What a status is about, where it is not the usual: 401 and 403 are about the key, 429 about a quota, the others about the
   *  record. keyOrRecord: the key, the record or its region, and the status does not show which. */
  readonly about: Readonly<Record<number, 'keyOrRecord' | 'record' | 'request'>>
  /** Those of them whose body is shown as `{ error }` [A §7]; in the others the text is at the path in `wire`. */
  readonly shownErrors: readonly number[]
  /** Keys of other regions get 403; null = every region. */
  readonly region: Region | null
  /** Only where it bills. */
  readonly budget: Budget | null
  /** Only where it is asynchronous. */
  readonly polling: Polling | null
  readonly example: FieldValues
  /** The fields by their names on the wire. */
  readonly toWire: (fields: FieldValues, wire: WireSettings) => Record<string, unknown>
  /** The received fields by our names. */
  readonly fromWire: (sent: FieldValues, wire: WireSettings) => Record<string, unknown>
  /** The documented answer, by our names. Throws ZodError when it has another shape. */
  readonly read: (body: unknown, wire: WireSettings) => A
}

type Stated = 'name' | 'effect' | 'summary' | 'source' | 'example' | 'read'
type Derived = 'transport' | 'fields'

/** What a declaration states; the rest has defaults. */
export interface OperationDraft<E extends Effect, S extends z.ZodRawShape, A>
  extends Pick<Operation<E, S, A>, Stated>,
    Partial<Omit<Operation<E, S, A>, Stated | Derived>> {
  readonly fields: S
  /** Default: POST of JSON to `/<name>`. A function where the documents leave it open. */
  readonly transport?: Partial<Transport> | ((wire: WireSettings) => Partial<Transport>)
  /** Wire names of the fields that have another name there. */
  readonly names?: (wire: WireSettings) => Names
}

/** Declares an operation. */
export function operation<E extends Effect, S extends z.ZodRawShape, A>(
  draft: OperationDraft<E, S, A>,
): Operation<E, S, A> {
  const { names = () => ({}), transport = {}, ...given } = draft
  const defaults = { method: 'POST', path: `/${draft.name}`, encoding: 'json' } as const
  return {
    aliases: [],
    service: 'appraisal',
    repeatable: draft.effect === 'read',
    timeoutSeconds: null,
    problem: () => null,
    file: null,
    mayBeEmpty: false,
    status: 200,
    statuses: {},
    about: {},
    shownErrors: [],
    region: null,
    budget: null,
    polling: null,
    toWire: (fields, wire) => renamed(fields, names(wire)),
    fromWire: (sent, wire) => fromWireNames(sent, names(wire)),
    ...given,
    fields: z.strictObject(draft.fields),
    transport: (wire) => ({
      ...defaults,
      ...(typeof transport === 'function' ? transport(wire) : transport),
    }),
  }
}

/** The fields of a received request, by our names. Text becomes the type of its field where only text can be sent. */
export function receivedFields(
  { fields, fromWire, transport }: Operation,
  sent: { readonly path: FieldValues; readonly query: FieldValues; readonly rest: FieldValues },
  wire: WireSettings,
): Record<string, unknown> {
  const { path, encoding } = transport(wire)
  const held = pathQuery(path)
  const inQuery = Object.entries(held).flatMap(([name, value]) =>
    pathFields(value).map((field) => [field, sent.query[name]] as const),
  )
  const body = Object.entries(sent.rest).filter(
    ([name]) => encoding !== 'query' || !Object.hasOwn(held, name),
  )
  const rest = fromWire(Object.fromEntries(body), wire)
  const placed = fromText(fields, { ...sent.path, ...Object.fromEntries(inQuery) })
  return { ...(encoding === 'json' ? rest : fromText(fields, rest)), ...placed }
}

/** The problem of a call that gives none of these fields. */
export function requiresOneField(...names: readonly string[]): Operation['problem'] {
  const flags = names.map((name) => `--${name}`)
  return (fields) =>
    names.some((name) => fields[name] !== undefined) ? null : `needs ${flags.join(' or ')}`
}

/** A reader of the answer as it came, for operations without a documented shape. */
export function asReceived(placed?: ShownAnswer['placed']) {
  return Object.assign((body: unknown): unknown => body, { placed })
}

/** A reader that checks the answer against its documented shape; `placed` completes what the OpenAPI document shows. */
export function readAs<T>(shape: z.ZodType<T>, placed?: ShownAnswer['placed']) {
  return Object.assign((body: unknown): T => shape.parse(body), { shape, placed })
}

/** Names of the fields in a path, in order. */
export function pathFields(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
}

/** The path without its query. */
export function barePath(path: string): string {
  return path.split('?', 1)[0]!
}

/** The query of a path: by name, a text or a `{field}`. */
export function pathQuery(path: string): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(path.slice(barePath(path).length)))
}

/** The path with more of a query, behind the one that it may hold. */
export function withQuery(path: string, query: string): string {
  if (query === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/** Renames received fields to our names. One of our names that has another name on the wire means nothing there. */
export function fromWireNames(sent: FieldValues, names: Names): Record<string, unknown> {
  const ours = new Map(Object.entries(names).map(([name, theirs]) => [theirs, name]))
  return Object.fromEntries(
    Object.entries(sent)
      .filter(([name]) => ours.has(name) || !Object.hasOwn(names, name))
      .map(([name, value]) => [ours.get(name) ?? name, value]),
  )
}

function renamed(from: FieldValues, names: Names): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(from).map(([name, value]) => [names[name] ?? name, value]),
  )
}
