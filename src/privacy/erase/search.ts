import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type Patterns, patternsKey } from './pattern.ts'
import { type Hit, scanTable } from './scan.ts'
import type { TextTable } from './text-tables.ts'

/** Rows of the tables that match a pattern. */
export type Search = (tables: readonly TextTable[], patterns: Patterns) => Promise<Hit[]>

/** Thrown when a search under the lock needs something that was not searched before. The caller releases the lock and searches it. */
export class NotCachedError extends Error {
  constructor() {
    super('not searched before the lock')
  }
}

/** The hits of a table when it was searched. */
interface Searched {
  /** The table's file: if it changes, the positions are invalid. */
  readonly file: string
  readonly ctids: readonly string[]
}

interface Known {
  /** Transactions from this one on may have written rows that the search did not see. */
  readonly since: string
  readonly tables: ReadonlyMap<string, Searched>
}

/** Searches and their hits. The next search with the same patterns reads only these rows and newer ones. It
 *  holds personal data. */
export class SearchCache {
  readonly #known = new Map<string, Known>()

  /** `unlocked` takes no locks and fills the cache; tables that are not cached are searched completely. `cached` locks the rows
   *  found until the commit, and throws NotCachedError for anything not cached; `locked` searches that too. */
  searchWith(db: Db, mode: 'unlocked' | 'cached' | 'locked'): Search {
    return async (tables, patterns) => {
      if (patterns.texts.length + patterns.digits.length === 0) return []
      const key = `${tables.map(({ name }) => name).join(' ')}\n${patternsKey(patterns)}`
      const known = this.#known.get(key)
      if (known === undefined && mode === 'cached') throw new NotCachedError()
      // Taken before the first row is read, so that rows written meanwhile count as unseen.
      const now = await readSnapshot(db, tables)
      const found = new Map<string, Searched>()
      const hits: Hit[] = []
      for (const table of tables) {
        const file = now.files.get(table.name)!
        const before = known?.tables.get(table.name)
        const isKnown = known !== undefined && before?.file === file
        if (!isKnown && mode === 'cached') throw new NotCachedError()
        const part = isKnown ? { ctids: before.ctids, since: known.since } : null
        const scanned = await scanTable(db, table, patterns, {
          part,
          locks: mode !== 'unlocked',
        })
        found.set(table.name, { file, ctids: scanned.map(({ ctid }) => ctid) })
        hits.push(...scanned)
      }
      if (mode === 'unlocked') this.#known.set(key, { since: now.since, tables: found })
      return hits
    }
  }
}

async function readSnapshot(db: Db, tables: readonly TextTable[]) {
  const { rows } = await sql<{ since: string; name: string; file: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as since, name,
      pg_relation_filenode(name::regclass)::text as file
    from unnest(${tables.map(({ name }) => name)}::text[]) as named (name)`.execute(db)
  return {
    since: rows[0]?.since ?? '0',
    files: new Map(rows.map(({ name, file }) => [name, file])),
  }
}
