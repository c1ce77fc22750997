import { Kysely, PostgresDialect, type PostgresPoolClient, type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

/** One open transaction: typed queries, and the bare client for COPY and for the work engine. */
export interface Tx {
  readonly db: Db
  readonly client: pg.PoolClient
}

/** Typed queries over a pool. */
export function openDb(pool: pg.Pool): Db {
  return openKysely(async () => {
    const client = await pool.connect()
    return preparingClient(client, () => client.release())
  })
}

const preparedMark = '/* prepared */'
const statementNames = new Map<string, string>()

/** A statement whose text is always the same, and which slices run so often that to plan it takes longer than to run it: each
 *  session parses and plans it once. */
export function prepared<T>(statement: RawBuilder<T>): RawBuilder<T> {
  return sql.join([sql.raw(preparedMark), statement], sql.raw(' ')) as RawBuilder<T>
}

function openKysely(connect: () => Promise<PostgresPoolClient>): Db {
  const pool = { options: {}, connect, end: async () => {} }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

/** Prepares the statements that are marked so. */
function preparingClient(client: pg.PoolClient, release: () => void): PostgresPoolClient {
  const query = (text: string, values: unknown[]) => {
    if (!text.startsWith(preparedMark)) return client.query(text, values)
    const name = statementNames.get(text) ?? `forecourt_${statementNames.size}`
    statementNames.set(text, name)
    return client.query({ name, text, values })
  }
  return { query, release } as unknown as PostgresPoolClient
}

const beginTexts = {
  'read write': 'begin isolation level read committed',
  'repeatable read, read only': 'begin isolation level repeatable read, read only',
  // Statements of triggers and prepared ones are planned once for a session: with the number of their keys in view Postgres plans them
  // again each time, for a plan that is the same.
  slice: 'begin isolation level read committed; set local plan_cache_mode = force_generic_plan',
}

/** Commits when `work` resolves; rolls back and rethrows when it rejects. A broken connection is removed from the pool. */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (tx: Tx) => Promise<T>,
  mode: keyof typeof beginTexts = 'read write',
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A session that Postgres ends between two queries reports why here; the next query fails without the reason.
  let ended: Error | undefined
  const onEnd = (error: Error) => {
    ended ??= error
  }
  client.on('error', onEnd)
  try {
    await client.query(beginTexts[mode])
    const result = await work({ db: dbOn(client), client })
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause
    })
    throw (error as { code?: unknown }).code === undefined ? (ended ?? error) : error
  } finally {
    client.off('error', onEnd)
    client.release(broken)
  }
}

/** The transaction whose snapshot it is, and the pool for a second one. */
export interface Snapshot extends Tx {
  readonly pool: pg.Pool
}

/** Works on all items, in their order, in two sessions with the same snapshot; `settings` are made in the second one. */
export async function inTwoSessions<T>(
  snapshot: Snapshot,
  items: readonly T[],
  work: (session: Tx, item: T) => Promise<void>,
  settings?: RawBuilder<unknown>,
): Promise<void> {
  const waiting = [...items]
  const workOn = async (session: Tx) => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift())
      try {
        await work(session, item)
      } catch (error) {
        // The other session must not read on.
        waiting.length = 0
        throw error
      }
  }
  // It is idle from the end of its last item until the second one has ended.
  await sql`set local idle_in_transaction_session_timeout = '1h'`.execute(snapshot.db)
  const { rows } = await sql<{ id: string }>`select pg_export_snapshot() as id`.execute(snapshot.db)
  const beside = inTransaction(
    snapshot.pool,
    async (second) => {
      await sql`set transaction snapshot ${sql.lit(rows[0]!.id)}`.execute(second.db)
      await settings?.execute(second.db)
      await workOn(second)
    },
    'repeatable read, read only',
  )
  const results = await Promise.allSettled([workOn(snapshot), beside])
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Runs `work` in a transaction that is always rolled back. */
export async function runAndRollBack(
  pool: pg.Pool,
  work: (tx: Tx) => Promise<unknown>,
): Promise<void> {
  const done = new Error('rolled back')
  try {
    await inTransaction(pool, async (tx) => {
      await work(tx)
      throw done
    })
  } catch (error) {
    if (error !== done) throw error
  }
}

/** Typed queries on a borrowed connection, in its transaction. Another one is refused: its commit would end both. */
export function dbOn(client: pg.PoolClient): Db {
  const borrowed = preparingClient(client, () => {})
  const db = openKysely(async () => borrowed)
  db.transaction = () => {
    throw new Error('a transaction is open on this connection: do without another one')
  }
  return db
}
