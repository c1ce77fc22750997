import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import type { Provenance } from '../../../sync/explain/provenance.ts'
import { HiddenValue, maskPayloads } from '../../../sync/records/mask-payload.ts'
import type { WindowedRecords } from '../../../sync/windows/windowed-records.ts'
import { withoutSignatures } from '../../../values/content-hash.ts'
import { isObject } from '../../../values/json-path.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { columnFedBy } from './columns-fed.ts'

/** The stream that lists evaluations. */
export const evaluationRecords: WindowedRecords = allStreams.find(
  ({ name }) => name === 'evaluations',
)!.records!

/** A stored answer about an evaluation. */
export interface StoredPayload {
  /** Names it in an address. */
  readonly id: string
  readonly endpoint: string
  readonly fetchedAt: Date
  readonly bytes: number
  readonly runId: number
}

/** The payloads of an evaluation: of each endpoint the oldest first. */
export function storedPayloads({ payloads }: Provenance): StoredPayload[] {
  return payloads.map((fact) => {
    const endpoint = /^POST \/(\w+)/.exec(String(fact['request']))![1]!
    const fetchedAt = fact['fetched_at'] as Date
    const id = `${endpoint}-${fetchedAt.getTime()}`
    return { id, endpoint, fetchedAt, bytes: Number(fact['bytes']), runId: Number(fact['run_id']) }
  })
}

/** What changed between two payloads, as texts; null: there are not two to compare. */
export interface PayloadChanges {
  readonly old: string
  readonly new: string
  /** At most `mostChanges`. */
  readonly shown: readonly ShownChange[]
  readonly count: number
}

export interface ShownChange {
  readonly path: string
  readonly kind: 'changed' | 'added' | 'removed' | 'order'
  readonly old: string | null
  readonly new: string | null
  /** It names a customer, or may: neither value is shown. */
  readonly isHidden: boolean
  readonly column: string | null
}

/** Changes on a page; the others are counted. */
export const maxChanges = 500

/** Where an evaluation is stored. */
interface EvaluationKey {
  readonly rooftopId: number
  readonly evalId: number
}

/** The two payloads that a query names, of the same endpoint; those that it does not name: the last two of /geteval. */
export function chosenPayloads(
  payloads: readonly StoredPayload[],
  query: Readonly<Record<string, string>>,
): readonly [StoredPayload, StoredPayload] | null {
  const named = (name: string) => payloads.find(({ id }) => id === query[name])
  const newest = named('new') ?? payloads.findLast(({ endpoint }) => endpoint === 'geteval')
  const older = payloads.filter(
    (one) => one.endpoint === newest?.endpoint && one.fetchedAt < newest.fetchedAt,
  )
  const old = named('old') ?? older.at(-1)
  if (old === undefined || newest === undefined || old === newest) return null
  return old.endpoint === newest.endpoint ? [old, newest] : null
}

/** Compares two payloads; signatures of links do not count, and customers are hidden. */
export async function readChanges(
  db: Db,
  key: EvaluationKey,
  [old, next]: readonly [StoredPayload, StoredPayload],
  { wire }: Config,
): Promise<PayloadChanges | null> {
  const bodies = await readBodies(db, key, [old, next])
  const [before, after] = [bodies.get(old.id), bodies.get(next.id)]
  if (before === undefined || after === undefined) return null
  const isRecord = old.endpoint === 'geteval'
  // The newest record has the customer, and other answers may name the same person.
  const record = [...bodies.values()].at(-1)
  const scope = { people: evaluationRecords.people!, id: key.evalId, wire: wire.appraisal }
  const masked = maskPayloads(scope, [
    { body: before, isRecord },
    { body: after, isRecord },
    { body: record, isRecord: true },
  ])
  const shown: ShownChange[] = []
  let count = 0
  for (const change of changesBetween(singleItem(masked[0]), singleItem(masked[1]))) {
    count++
    if (shown.length >= maxChanges) continue
    const values = [change.old, change.new]
    shown.push({
      path: pathText(change.path),
      kind: change.kind,
      old: valueText(change.old),
      new: valueText(change.new),
      isHidden: values.some((value) => value instanceof HiddenValue),
      column: isRecord ? columnFedBy(fieldText(change.path), wire.appraisal) : null,
    })
  }
  return { old: old.id, new: next.id, shown, count }
}

/** The answer of /geteval is a list of one. */
function singleItem(body: unknown): unknown {
  return Array.isArray(body) && body.length === 1 ? (body[0] as unknown) : body
}

function valueText(value: unknown): string | null {
  if (value === undefined) return null
  const isText = typeof value === 'string' || value instanceof HiddenValue
  const text = isText ? String(value) : JSON.stringify(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** The parsed bodies by their id, and last the newest of /geteval. */
async function readBodies(
  db: Db,
  { rooftopId, evalId }: EvaluationKey,
  wanted: readonly StoredPayload[],
): Promise<Map<string, unknown>> {
  const key = String(evalId)
  const { rows } = await sql<{ endpoint: string; at: Date; text: string }>`
    select endpoint, fetched_at as at, body::text as text from raw.payload
    where rooftop_id = ${rooftopId} and natural_key = ${key}
      and (endpoint, date_trunc('milliseconds', fetched_at)) in (
        select * from unnest(${wanted.map(({ endpoint }) => endpoint)}::text[], ${wanted.map(({ fetchedAt }) => fetchedAt)}::timestamptz[]))
    union all
    (select 'record', fetched_at, body::text from raw.payload
    where rooftop_id = ${rooftopId} and endpoint = 'geteval' and natural_key = ${key} order by fetched_at desc limit 1)`.execute(
    db,
  )
  const isLast = ({ endpoint }: { endpoint: string }) => Number(endpoint === 'record')
  return new Map(
    rows
      .toSorted((a, b) => isLast(a) - isLast(b))
      .map(({ endpoint, at, text }) => [
        `${endpoint}-${at.getTime()}`,
        JSON.parse(withoutSignatures(text)) as unknown,
      ]),
  )
}

/** A whole payload, with its customer and without the signatures of its links; null: it is no longer stored. */
export async function readPayload(
  db: Db,
  key: EvaluationKey,
  payload: StoredPayload,
): Promise<string | null> {
  const body = (await readBodies(db, key, [payload])).get(payload.id)
  return body === undefined ? null : JSON.stringify(body, null, 2)
}

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
  else if (isShownObject(old) && isShownObject(next))
    yield* changesOfEntries(new Map(Object.entries(old)), new Map(Object.entries(next)), (key) => [
      ...path,
      key,
    ])
  else if (!Object.is(old, next)) yield { path, kind: 'changed', old, new: next }
}

function isShownObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !(value instanceof HiddenValue)
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
  if (!old.some(isShownObject) && !next.some(isShownObject))
    return yield* changesOfValues(old, next, path)
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
  if (field === null || !isShownObject(value) || !Object.hasOwn(value, field)) return null
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
function fieldText(path: Path): string {
  return path.filter((part) => typeof part === 'string').join('.')
}
