import { z } from 'zod'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import type { WireSettings } from '../../values/wire.ts'

// Answers whose field names are not shown: the wire settings give the paths, the readers our own names.

/** The number at the path, also from a text; null when there is none. */
export function numberAt(body: unknown, path: JsonPath): number | null {
  const value = valueAt(body, path)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : null
}

/** The text at the path, also from a number; null when there is none. */
export function textAt(body: unknown, path: JsonPath): string | null {
  const value = valueAt(body, path)
  if (typeof value === 'string') return value === '' ? null : value
  return typeof value === 'number' ? String(value) : null
}

/** The array at the path; null when there is none. */
export function listAt(body: unknown, path: JsonPath): readonly unknown[] | null {
  const value = valueAt(body, path)
  return Array.isArray(value) ? value : null
}

function anyAt(body: unknown, path: JsonPath): unknown {
  return valueAt(body, path) ?? null
}

/** What a field may be: its shape in the OpenAPI document, and how it is read. */
const kinds = {
  text: { shape: z.string().nullable(), read: textAt },
  link: { shape: z.url().nullable(), read: textAt },
  instant: { shape: z.iso.datetime(), read: textAt },
  number: { shape: z.number().nullable(), read: numberAt },
  count: { shape: z.int(), read: numberAt },
  flag: { shape: z.boolean(), read: anyAt },
  list: { shape: z.array(z.unknown()), read: listAt },
  any: { shape: z.unknown(), read: anyAt },
} as const
type Kind = keyof typeof kinds
/** Names of fields by what they are. */
type FieldNames = { readonly [K in Kind]?: readonly string[] }

/** The fields as they are read. */
type FieldsOf<F extends FieldNames> = {
  readonly [P in { [K in Kind & keyof F]: [F[K], K] }[Kind & keyof F] as NamesIn<P[0]>]: ReturnType<
    (typeof kinds)[P[1]]['read']
  >
}
type NamesIn<L> = L extends readonly (infer N extends string)[] ? N : never
type PathsOf<F extends FieldNames> = (
  wire: WireSettings,
) => Readonly<Record<keyof FieldsOf<F>, JsonPath>>

/** Shapes by their path in an answer; a list of them: the items of an array. */
export type PathShapes = readonly (readonly [JsonPath, z.ZodType | PathShapes])[]

/** What a reader shows of the answer in the OpenAPI document, beside what it reads. */
export interface ShownAnswer {
  /** The documented shape. */
  readonly shape?: z.ZodType | undefined
  /** What completes it, at the paths of the wire settings; in an answer that is a list, in its items. */
  readonly placed?: ((wire: WireSettings) => PathShapes) | undefined
}

/** A reader of fields, each at the path of the wire setting with its name. */
export function fieldReader<const F extends FieldNames>(fields: F, pathsIn: PathsOf<F>) {
  const read = (body: unknown, wire: WireSettings) => {
    const values = kindsAt(fields, pathsIn(wire)).map(([name, path, kind]) => [
      name,
      kinds[kind].read(body, path),
    ])
    return Object.fromEntries(values) as FieldsOf<F>
  }
  return Object.assign(read, { placed: placedAt(fields, pathsIn) })
}

/** The shapes of fields, each at the path of the wire setting with its name. */
export function placedAt<const F extends FieldNames>(fields: F, pathsIn: PathsOf<F>) {
  return (wire: WireSettings): PathShapes =>
    kindsAt(fields, pathsIn(wire)).map(([, path, kind]) => [path, kinds[kind].shape])
}

function kindsAt(fields: FieldNames, paths: Readonly<Record<string, JsonPath>>) {
  return Object.entries(fields).flatMap(([kind, names]) =>
    names.map((name) => [name, paths[name]!, kind as Kind] as const),
  )
}
