import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import { maxJsonDepth } from '../values/json-depth.ts'
import { storable } from '../values/text.ts'

interface SeenPath {
  readonly path: string
  readonly type: string
  readonly classification: string
  readonly count: number
}

type JsonType = 'null' | 'array' | 'object' | 'string' | 'number' | 'boolean'

/** A place in the records, and what was seen there. A tree of them spares a string for every value that is walked. */
class Place {
  readonly path: string
  readonly classification: string
  readonly counts = new Map<JsonType, number>()
  readonly #fields = new Map<string, Place>()
  readonly #documented: ReadonlySet<string>
  #item: Place | null = null

  constructor(path: string, documented: ReadonlySet<string>) {
    this.path = path
    this.#documented = documented
    this.classification = isDocumented(path, documented) ? 'documented' : 'undocumented'
  }

  /** The items of a list. */
  get item(): Place {
    this.#item ??= new Place(`${this.path}[]`, this.#documented)
    return this.#item
  }

  /** A field. Keys below customFields are names that a dealer chose, not fields: they count as one. */
  field(key: string): Place {
    const isOneOfMany = !this.#fields.has(key) && this.#fields.size >= mostFields
    const name = this.path === 'customFields' || isOneOfMany ? '*' : key
    let found = this.#fields.get(name)
    if (!found) {
      found = new Place(this.path === '' ? name : `${this.path}.${name}`, this.#documented)
      this.#fields.set(name, found)
    }
    return found
  }

  /** Of the place and all below it. */
  *seen(): Generator<SeenPath> {
    const { classification } = this
    const path = storable(this.path).slice(0, 300)
    for (const [type, count] of this.counts) yield { path, type, classification, count }
    if (this.#item) yield* this.#item.seen()
    for (const field of this.#fields.values()) yield* field.seen()
  }
}

/** The items of a list are as documented as the list. */
function isDocumented(path: string, documented: ReadonlySet<string>): boolean {
  if (documented.has(path) || path.startsWith('customFields.')) return true
  return path.endsWith('[]') && isDocumented(path.slice(0, -2), documented)
}

/** Of one object: names beyond them count as one, since an object with more is keyed by data. */
const mostFields = 500

/** How often each JSON path and type was seen; gathered over a slice, written once. */
export class Drift {
  readonly #root: Place
  readonly #required: readonly string[]
  readonly #missing = new Map<string, number>()

  constructor(documented: {
    readonly paths: ReadonlySet<string>
    readonly required: readonly string[]
  }) {
    this.#root = new Place('', documented.paths)
    this.#required = documented.required
  }

  /** Walks one record. */
  add(record: unknown): void {
    if (record === null || typeof record !== 'object' || Array.isArray(record)) return
    for (const path of this.#required) {
      if (!Object.hasOwn(record, path)) this.#missing.set(path, (this.#missing.get(path) ?? 0) + 1)
    }
    walkFields(record, this.#root, maxJsonDepth)
  }

  /** What was seen so far. */
  get seen(): readonly SeenPath[] {
    const missing = [...this.#missing].map(([path, count]) => ({
      ...{ path, type: 'absent', classification: 'missing', count },
    }))
    return [...missing, ...this.#root.seen()]
  }

  /** Adds what was seen to the report. Sorted, so that two slices at once never wait for each other in a circle. */
  async write(db: Db, stream: string): Promise<void> {
    const rows = this.seen.toSorted((a, b) =>
      `${a.path}\n${a.type}` < `${b.path}\n${b.type}` ? -1 : 1,
    )
    if (rows.length === 0) return
    await sql`
      insert into ops.field_drift as old (stream, json_path, json_type, classification, seen)
      select ${stream}, path, type, max(classification), sum(count)
      from unnest(${rows.map((row) => row.path)}::text[], ${rows.map((row) => row.type)}::text[],
        ${rows.map((row) => row.classification)}::text[], ${rows.map((row) => row.count)}::bigint[])
        as seen (path, type, classification, count)
      group by path, type order by path, type
      on conflict (stream, json_path, json_type)
      do update set seen = old.seen + excluded.seen, last_seen_at = now(), classification = excluded.classification`.execute(
      db,
    )
  }
}

/** What is nested more deeply than `left` is not reported. */
function walk(value: unknown, place: Place, left: number): void {
  const type = typeOf(value)
  place.counts.set(type, (place.counts.get(type) ?? 0) + 1)
  if (left === 0) return
  if (type === 'array') {
    for (const item of value as unknown[])
      if (item !== null && typeof item === 'object') walk(item, place.item, left - 1)
  } else if (type === 'object') walkFields(value as object, place, left)
}

function walkFields(record: object, place: Place, left: number): void {
  for (const key of Object.keys(record))
    walk((record as Record<string, unknown>)[key], place.field(key), left - 1)
}

function typeOf(value: unknown): JsonType {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : (typeof value as JsonType)
}
