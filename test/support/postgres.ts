import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { openPool } from '#src/warehouse/db/connect.ts'
import { lockGraceSeconds } from '#src/warehouse/db/held-lock.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { databaseUrl } from './postgres-url.ts'

/** What the global set-up hands to the tests. */
export interface TestServer {
  /** A database from which others can be created. */
  readonly url: string
  /** Part of the name of every database of this run. */
  readonly run: string
  /** The migrated database that tests are cloned from. */
  readonly template: string
}

/** A database of its own for one test; disposing ends the pool and drops the database. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  readonly pool: pg.Pool
}

declare module 'vitest' {
  export interface ProvidedContext {
    testServer: TestServer
  }
}

/** A migrated database, cloned from the run's template in some ten milliseconds. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(inject('testServer').template)
}

/** A copy of a database as it is now; ends the pool of the original, which must have no other connection. */
export async function copyTestDatabase(original: TestDatabase): Promise<TestDatabase> {
  if (!original.pool.ended) await original.pool.end()
  return await create(databaseName(original))
}

/**
 * A copy of what `load` makes of a new database, which only the first of all files calls; `load` returns a text, e.g. the time of its
 * source, which each copy gets, and leaves no connection open.
 */
export async function loadedTestDatabase(
  name: string,
  load: (database: TestDatabase) => Promise<string>,
): Promise<{ database: TestDatabase; text: string }> {
  const { url, run } = inject('testServer')
  const template = `forecourt_loaded_${run}_${name}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Until the session ends: another file waits here for the one that loads.
    await client.query('select pg_advisory_lock(hashtext($1))', [template])
    const { rows } = await client.query<{ text: string | null }>(
      "select shobj_description(oid, 'pg_database') as text from pg_database where datname = $1",
      [template],
    )
    const known = rows[0]
    const text = known ? (known.text ?? '') : await loadTemplate(client, template, load)
    return { database: await create(template), text }
  } finally {
    await client.end()
  }
}

async function loadTemplate(
  client: pg.Client,
  template: string,
  load: (database: TestDatabase) => Promise<string>,
): Promise<string> {
  const database = await createTestDatabase()
  const text = await load(database)
  // No autovacuum does it. Without statistics some reports of 400 evaluations take a fifth of a second instead of a hundredth.
  await database.pool.query('analyze')
  await database.pool.end()
  await client.query(`alter database ${databaseName(database)} rename to ${template}`)
  await client.query(`comment on database ${template} is '${text}'`)
  return text
}

const databaseName = ({ url }: TestDatabase) => new URL(url).pathname.slice(1)

/** A database without any migration. */
export function emptyTestDatabase(): Promise<TestDatabase> {
  return create('template0')
}

/** A migrated database whose lower case knows letters beyond ASCII, one by one, as that of most servers does. */
export async function unicodeTestDatabase(): Promise<TestDatabase> {
  const database = await create(
    'template0',
    "encoding 'UTF8' locale_provider builtin builtin_locale 'C.UTF-8'",
  )
  await prepareWarehouse(database.pool)
  return database
}

async function create(template: string, options = ''): Promise<TestDatabase> {
  const server = inject('testServer')
  const name = `forecourt_test_${server.run}_${randomBytes(5).toString('hex')}`
  // Copying the files costs Postgres a third of what writing them through its log does.
  await administer(`create database ${name} template ${template} strategy file_copy ${options}`)
  const url = databaseUrl(server.url, name)
  const pool = await openPool(url, { applicationName: 'test' })
  return {
    url,
    pool,
    [Symbol.asyncDispose]: async () => {
      if (!pool.ended) await pool.end()
      await administer(`drop database if exists ${name} with (force)`)
    },
  }
}

let admin: Promise<pg.Pool> | undefined

/** By the pool of this worker, whose idle connections keep nothing alive. */
async function administer(statement: string): Promise<void> {
  admin ??= openPool(inject('testServer').url, { applicationName: 'test', max: 4 })
  const pool = await admin
  await pool.query(statement)
}

/** The locks of this database, for the `from` of a statement: `pg_locks` shows those of the databases of other tests too. */
export const databaseLocks = `(
  select * from pg_locks where database = (select oid from pg_database where datname = current_database())) as lock`

/** Waits until a free lock proves that its holder is dead, which it does not in the first seconds of the server. */
export async function untilFreeLocksCount(pool: pg.Pool): Promise<void> {
  await pool.query(
    `select pg_sleep(greatest(0, $1 + 1 - extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8))`,
    [lockGraceSeconds],
  )
}
