import { maxJsonDepth } from '../../values/json-depth.ts'
import type { FieldValues } from '../contract/operation.ts'

/** One answer, and what was asked. A refusal is the body `[]`: there is nothing for what was asked. */
export interface Answer {
  /** By the name of the contract, e.g. `geteval`. */
  readonly operation: string
  /** By our names. */
  readonly request: FieldValues
  readonly body: unknown
  /** Whose key asked, and its number in the config. */
  readonly rooftop?: { readonly uid: string; readonly dealerId: number | null } | undefined
}

/** A record of an answer: an evaluation, or an item of a list. One that was read twice counts once. */
export interface SeenRecord {
  readonly key: string
  readonly body: unknown
  readonly answer: Answer
}

/** What is at one path of the records. */
export interface Field {
  readonly path: string
  /** Its value in each record that has one, by the record's key. */
  readonly values: ReadonlyMap<string, unknown>
}

/** The fields of records, and what they cannot show. */
export interface Fields {
  readonly records: readonly SeenRecord[]
  readonly fields: readonly Field[]
  /** Paths without any value. */
  readonly empty: number
  /** Paths that a setting cannot name, or whose key may be data: a key of one record may be the name of a person. */
  readonly hidden: number
}

const keyName = /^[A-Za-z_][\w-]{0,39}$/
const maxPaths = 500

/** Whether a value says nothing: null, an empty text, or a word for it. */
export function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return /^(n\/?a|null|none|-*)$/i.test(value.trim())
  if (value === null || value === undefined) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** The fields of records, without those at the paths that the documents name. */
export function collectFields(
  records: readonly SeenRecord[],
  documented: readonly string[],
): Fields {
  const found = new Map<string, Map<string, unknown>>()
  const seen = new Map<string, number>()
  const hidden = new Set<string>()
  for (const { key, body } of records) {
    for (const [path, value] of collectLeaves(body)) {
      if (documented.some((one) => path === one || path.startsWith(`${one}.`))) continue
      seen.set(path, (seen.get(path) ?? 0) + 1)
      if (!found.has(path)) found.set(path, new Map())
      if (!isEmpty(value)) found.get(path)!.set(key, value)
    }
  }
  for (const [path, count] of seen)
    if (path !== '' && (count < 2 || !path.split('.').every(isNameable))) hidden.add(path)
  const shown = [...found].filter(([path]) => !hidden.has(path))
  const fields = shown.filter(([, values]) => values.size > 0)
  return {
    records,
    fields: fields.map(([path, values]) => ({ path, values })),
    empty: shown.length - fields.length,
    hidden: hidden.size,
  }
}

function isNameable(part: string): boolean {
  return part === '0' || (keyName.test(part) && part !== '__proto__')
}

/** Every value that is not an object, by its path; a list of texts is one value, the only object of a list has the position 0. */
export function collectLeaves(value: unknown): Map<string, unknown> {
  const leaves = new Map<string, unknown>()
  const walk = (part: unknown, path: string, left: number) => {
    if (leaves.size >= maxPaths || left === 0) return
    const below = (key: string) => (path === '' ? key : `${path}.${key}`)
    if (Array.isArray(part) && part.some((each) => each !== null && typeof each === 'object')) {
      // Of several objects none has a place of its own.
      walk(part[0], below(part.length === 1 ? '0' : '*'), left - 1)
    } else if (part !== null && typeof part === 'object' && !Array.isArray(part)) {
      if (Object.keys(part).length === 0 && path !== '') leaves.set(path, part)
      // A key with a dot is not a part of a path.
      for (const [key, each] of Object.entries(part))
        walk(each, below(key.includes('.') ? '*' : key), left - 1)
    } else leaves.set(path, part)
  }
  walk(value, '', maxJsonDepth)
  return leaves
}
