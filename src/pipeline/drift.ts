import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import { storable } from '../values/text.ts'

interface SeenPath {
  readonly path: string
  readonly type: string
  readonly classification: string
  count: number
}

/** How often each JSON path and type was seen; gathered over a slice, written once. */
export class Drift {
  readonly #seen = new Map<string, SeenPath>()
  readonly #documented: {
    readonly paths: ReadonlySet<string>
    readonly required: readonly string[]
  }

  constructor(documented: {
    readonly paths: ReadonlySet<string>
    readonly required: readonly string[]
  }) {
    this.#documented = documented
  }

  /** Walks one record. Keys below customFields are names that a dealer chose, not fields: they count as one path. */
  add(record: unknown): void {
    if (record === null || typeof record !== 'object' || Array.isArray(record)) return
    for (const path of this.#documented.required) {
      if (!Object.hasOwn(record, path)) this.#count(path, 'absent', 'missing')
    }
    this.#walk(record, '')
  }

  /** What was seen so far. */
  get seen(): readonly SeenPath[] {
    return [...this.#seen.values()]
  }

  #walk(value: unknown, path: string): void {
    if (path !== '')
      this.#count(path, typeOf(value), this.#isDocumented(path) ? 'documented' : 'undocumented')
    if (Array.isArray(value)) {
      for (const item of value)
        if (item !== null && typeof item === 'object') this.#walk(item, `${path}[]`)
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) {
        const name = path === 'customFields' ? '*' : key
        this.#walk(item, path === '' ? name : `${path}.${name}`)
      }
    }
  }

  /** The items of a list are as documented as the list. */
  #isDocumented(path: string): boolean {
    if (this.#documented.paths.has(path) || path.startsWith('customFields.')) return true
    return path.endsWith('[]') && this.#isDocumented(path.slice(0, -2))
  }

  #count(path: string, type: string, classification: string): void {
    const key = `${path}\n${type}`
    const found = this.#seen.get(key)
    if (found) found.count++
    else this.#seen.set(key, { path: storable(path).slice(0, 300), type, count: 1, classification })
  }

  /** Adds what was seen to the report. Sorted, so that two slices at once never wait for each other in a circle. */
  async write(db: Db, stream: string): Promise<void> {
    if (this.#seen.size === 0) return
    const rows = this.seen.toSorted((a, b) =>
      `${a.path}\n${a.type}` < `${b.path}\n${b.type}` ? -1 : 1,
    )
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

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
