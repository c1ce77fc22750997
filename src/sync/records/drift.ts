import { sql } from 'kysely'
import { maxJsonDepth } from '../../values/json-depth.ts'
import { storable } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

interface SeenPath {
  readonly path: string
  readonly type: string
  readonly classification: string
  readonly count: number
}

const jsonTypes = ['null', 'array', 'object', 'string', 'number', 'boolean'] as const

/** One JSON path, and the types seen there. A tree of nodes avoids building a path string for every value. */
class PathNode {
  readonly path: string
  readonly classification: string
  readonly counts = { null: 0, array: 0, object: 0, string: 0, number: 0, boolean: 0 }
  readonly #fields = new Map<string, PathNode>()
  readonly #hasOneNode: boolean
  readonly #documented: ReadonlySet<string>
  #item: PathNode | null = null

  constructor(path: string, documented: ReadonlySet<string>) {
    this.path = path
    this.#documented = documented
    this.#hasOneNode = path === 'customFields'
    this.classification = isDocumented(path, documented) ? 'documented' : 'undocumented'
  }

  /** The items of a list. */
  get item(): PathNode {
    this.#item ??= new PathNode(`${this.path}[]`, this.#documented)
    return this.#item
  }

  /** The node of a field. Keys below customFields are names chosen by a dealer, not fields, so they share one node. */
  field(key: string): PathNode {
    const known = this.#hasOneNode ? undefined : this.#fields.get(key)
    if (known !== undefined) return known
    const name = this.#hasOneNode || this.#fields.size >= maxFields ? '*' : key
    let found = this.#fields.get(name)
    if (!found) {
      found = new PathNode(this.path === '' ? name : `${this.path}.${name}`, this.#documented)
      this.#fields.set(name, found)
    }
    return found
  }

  /** Counts of this node and all below it. */
  *seen(): Generator<SeenPath> {
    const { classification } = this
    const path = storable(this.path).slice(0, 300)
    for (const type of jsonTypes) {
      const count = this.counts[type]
      if (count > 0) yield { path, type, classification, count }
    }
    if (this.#item) yield* this.#item.seen()
    for (const field of this.#fields.values()) yield* field.seen()
  }
}

/** Whether the documents name a path. The items of a documented list are documented. */
function isDocumented(path: string, documented: ReadonlySet<string>): boolean {
  if (documented.has(path) || path.startsWith('customFields.')) return true
  return path.endsWith('[]') && isDocumented(path.slice(0, -2), documented)
}

/** Fields per object; further names share one node, since the keys of such an object are data. */
const maxFields = 500

/** Counts how often each JSON path and type occurs; collected over a slice, written once. */
export class Drift {
  readonly #root: PathNode
  readonly #required: readonly string[]
  readonly #missing = new Map<string, number>()

  constructor(documented: {
    readonly paths: ReadonlySet<string>
    readonly required: readonly string[]
  }) {
    this.#root = new PathNode('', documented.paths)
    this.#required = documented.required
  }

  /** Counts the paths of one record. */
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

  /** Adds the counts to ops.field_drift. The rows are sorted, so that two concurrent slices cannot deadlock. */
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

/** Counts a value and its fields, at most `left` levels deep. */
function walk(value: unknown, node: PathNode, left: number): void {
  if (value === null) node.counts.null++
  else if (typeof value === 'string') node.counts.string++
  else if (typeof value !== 'object') node.counts[typeof value as 'number' | 'boolean']++
  else if (Array.isArray(value)) {
    node.counts.array++
    if (left > 0)
      for (const item of value)
        if (item !== null && typeof item === 'object') walk(item, node.item, left - 1)
  } else {
    node.counts.object++
    if (left > 0) walkFields(value, node, left)
  }
}

function walkFields(record: object, node: PathNode, left: number): void {
  for (const key in record)
    walk((record as Record<string, unknown>)[key], node.field(key), left - 1)
}
