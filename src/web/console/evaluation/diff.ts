import { HiddenValue } from '../../../sync/records/mask-payload.ts'

/** A place in a document: names of fields, and elements by what identifies them. */
type Path = readonly (string | Element)[]

/** An element of a list: `id 5`, or its position from 0. */
interface Element {
  readonly element: string
}

/** What is different at a place. */
interface Change {
  readonly path: Path
  /** order: the same elements in another order. */
  readonly kind: 'changed' | 'added' | 'removed' | 'order'
  readonly old?: unknown
  readonly new?: unknown
}

/**
 * Pure. The differences between two parsed documents. Objects of a list are compared by `id`, `ID` or `name`, where both lists have
 * it in every element and never twice, else by position. Other values of a list are only there or not there. Takes linear time:
 * a list may have as many elements as a hostile source sends.
 */
export function* changesBetween(old: unknown, next: unknown, path: Path = []): Generator<Change> {
  if (Array.isArray(old) && Array.isArray(next)) yield* changesOfLists(old, next, path)
  else if (isObject(old) && isObject(next))
    yield* changesOfEntries(new Map(Object.entries(old)), new Map(Object.entries(next)), (key) => [
      ...path,
      key,
    ])
  else if (!Object.is(old, next)) yield { path, kind: 'changed', old, new: next }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    value !== null &&
    typeof value === 'object' &&
    !Array.isArray(value) &&
    !(value instanceof HiddenValue)
  )
}

type Entries = ReadonlyMap<string, unknown>

function* changesOfEntries(
  old: Entries,
  next: Entries,
  pathOf: (key: string) => Path,
): Generator<Change> {
  for (const [key, value] of old)
    if (next.has(key)) yield* changesBetween(value, next.get(key), pathOf(key))
    else yield { path: pathOf(key), kind: 'removed', old: value }
  for (const [key, value] of next)
    if (!old.has(key)) yield { path: pathOf(key), kind: 'added', new: value }
}

type List = readonly unknown[]

function* changesOfLists(old: List, next: List, path: Path): Generator<Change> {
  if (!old.some(isObject) && !next.some(isObject)) return yield* changesOfValues(old, next, path)
  const field = identityField(old, next)
  const entries = (list: List) =>
    new Map(list.map((one, at) => [valueKey(one, field) ?? `${at}`, one]))
  const [before, after] = [entries(old), entries(next)]
  yield* changesOfEntries(before, after, (key) => [
    ...path,
    { element: field === null ? key : `${field} ${key}` },
  ])
  const both = [...before.keys()].filter((key) => after.has(key))
  const order = [...after.keys()].filter((key) => before.has(key))
  if (both.some((key, at) => key !== order[at]))
    yield { path, kind: 'order', old: both.join(', '), new: order.join(', ') }
}

/** Values that are not objects, each as often as it is there. */
function* changesOfValues(old: List, next: List, path: Path): Generator<Change> {
  const counts = new Map<unknown, number>()
  for (const value of next) counts.set(keyOfValue(value), (counts.get(keyOfValue(value)) ?? 0) + 1)
  const removed = old.filter((value) => !take(counts, value))
  const left = next.toReversed().filter((value) => take(counts, value))
  for (const value of removed)
    yield { path: [...path, { element: '' }], kind: 'removed', old: value }
  for (const value of left.toReversed())
    yield { path: [...path, { element: '' }], kind: 'added', new: value }
  if (
    removed.length + left.length === 0 &&
    old.some((value, at) => keyOfValue(value) !== keyOfValue(next[at]))
  )
    yield { path, kind: 'order', old, new: next }
}

/** Lists within a list are compared as texts. */
function keyOfValue(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value
}

function take(counts: Map<unknown, number>, value: unknown): boolean {
  const count = counts.get(keyOfValue(value)) ?? 0
  counts.set(keyOfValue(value), count - 1)
  return count > 0
}

/** The field that identifies the elements of both lists; null: none does. */
function identityField(...lists: readonly List[]): string | null {
  const identifies = (field: string) =>
    lists.every(
      (list) => new Set(list.map((one) => valueKey(one, field) ?? '')).size === list.length,
    ) && lists.flat().every((one) => valueKey(one, field) !== null)
  return ['id', 'ID', 'name'].find(identifies) ?? null
}

function valueKey(value: unknown, field: string | null): string | null {
  if (field === null || !isObject(value) || !Object.hasOwn(value, field)) return null
  const key = value[field]
  return typeof key === 'string' || typeof key === 'number' ? String(key) : null
}

/** `Photos[id 5].hero` */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'object'
        ? `${text}[${part.element}]`
        : `${text}${text === '' ? '' : '.'}${part}`,
    '',
  )
}

/** The names of a path alone: `Photos.hero`. */
export function fieldText(path: Path): string {
  return path.filter((part) => typeof part === 'string').join('.')
}
