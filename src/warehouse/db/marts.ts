import type pg from 'pg'
import { errorText, UsageError } from '../../errors.ts'
import { type MartFile, type Marts, readMarts, toScopedSchema } from './mart-files.ts'
import { type Db, dbOn } from './transaction.ts'

/** Whether the marts of the warehouse are those of our files. */
export async function martsAreCurrent(
  client: pg.ClientBase | pg.Pool,
  marts: Marts,
): Promise<boolean> {
  const { rows } = await client.query<{ checksum: string }>(
    'select checksum from ops.mart_version order by built_at desc limit 1',
  )
  return rows[0]?.checksum === marts.checksum && (await existingViews(client)) === martViews(marts)
}

/**
 * Builds the views of the marts in one transaction, so that a reader sees either the old or the new views. Views are replaced where
 * Postgres can do so. When a column was removed or retyped they are dropped first, which fails with an explanation when other
 * objects are built on them.
 */
export async function buildMarts(
  pool: pg.Pool,
  afterwards: (db: Db) => Promise<void> = async () => {},
  marts?: Marts,
): Promise<void> {
  const wanted = marts ?? (await readMarts())
  const client = await pool.connect()
  let broken = true
  try {
    await client.query("begin; set local lock_timeout = '30s'; savepoint unchanged")
    // Two builds at once would deadlock over the views.
    await client.query('lock table ops.mart_version in share row exclusive mode')
    if (await martsAreCurrent(client, wanted)) await copyCoreViews(client, wanted.files)
    else await rebuild(client, wanted)
    await afterwards(dbOn(client))
    await client.query('commit')
    broken = false
  } finally {
    if (broken) await client.query('rollback').catch(() => undefined)
    client.release(broken)
  }
}

async function rebuild(client: pg.ClientBase, { version, checksum, files }: Marts): Promise<void> {
  if (!(await replaced(client, files))) {
    await dropAll(client)
    await createAll(client, files)
  }
  await client.query('insert into ops.mart_version (version, checksum) values ($1, $2)', [
    version,
    checksum,
  ])
}

/** Replaces the views; returns false and changes nothing when a view cannot be replaced. */
async function replaced(client: pg.ClientBase, files: readonly MartFile[]): Promise<boolean> {
  const existing = (await existingViews(client)).split('\n').filter((name) => name !== '')
  const wanted = new Set(martNames(files))
  if (existing.some((name) => !wanted.has(name))) return false
  try {
    await createAll(client, files)
    return true
  } catch (error) {
    if (errorCode((error as Error).cause) !== '42P16') throw error
    await client.query('rollback to savepoint unchanged')
    return false
  }
}

async function dropAll(client: pg.ClientBase): Promise<void> {
  try {
    await client.query('select ops.drop_marts()')
  } catch (cause) {
    if (errorCode(cause) !== '2BP01') throw cause
    const { detail } = cause as { detail?: string }
    throw new UsageError(
      `The marts have changed, but other objects are built on them (${detail ?? errorText(cause)}): drop them, run "forecourt migrate", and create them again.`,
      { cause },
    )
  }
}

async function createAll(client: pg.ClientBase, files: readonly MartFile[]): Promise<void> {
  const copied = await copyCoreViews(client, files)
  for (const { schema, file, sql } of files) {
    try {
      await client.query(sql)
      if (schema === 'mart') await client.query(readFromCopies(toScopedSchema(sql), copied))
    } catch (cause) {
      throw new UsageError(
        `sql/marts/${file} failed and no mart was changed (${errorText(cause)}): correct the file, or run "forecourt migrate" as the owner of the warehouse.`,
        { cause },
      )
    }
  }
}

function martNames(files: readonly MartFile[]): string[] {
  return files.flatMap(({ schema, name }) =>
    schema === 'mart' ? [`mart.${name}`, `mart_scoped.${name}`] : [`mart_pii.${name}`],
  )
}

function martViews({ files }: Marts): string {
  return martNames(files).sort().join('\n')
}

async function existingViews(client: pg.ClientBase | pg.Pool): Promise<string> {
  const { rows } = await client.query<{ names: string | null }>(
    `select string_agg(n.nspname || '.' || c.relname, chr(10) order by (n.nspname || '.' || c.relname) collate "C") as names
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('mart', 'mart_scoped', 'mart_pii') and c.relkind = 'v'`,
  )
  return rows[0]?.names ?? ''
}

function errorCode(error: unknown): string | undefined {
  return (error as { code?: string } | null | undefined)?.code
}

interface CoreView {
  readonly name: string
  readonly definition: string
}

/**
 * Creates `core_scoped`: a copy of each view of core that the marts read, directly or through other views. Row-level security checks
 * the owner of a view, so the marts of a tenant read these copies. Returns their names.
 */
async function copyCoreViews(client: pg.ClientBase, marts: readonly MartFile[]): Promise<string[]> {
  const { rows } = await client.query<CoreView>(
    `select c.relname as name, pg_get_viewdef(c.oid) as definition
     from set_config('search_path', '', true) as qualified
     join pg_class as c on c.relnamespace = 'core'::regnamespace and c.relkind = 'v' and qualified = ''
     order by c.oid`,
  )
  const wanted = new Map<string, CoreView>()
  const want = (text: string): void => {
    for (const view of rows) {
      if (wanted.has(view.name) || !namesView(text, view.name)) continue
      want(view.definition)
      wanted.set(view.name, view)
    }
  }
  for (const { schema, sql } of marts) if (schema === 'mart') want(splitComments(sql).statement)
  const names = [...wanted.keys()]
  for (const { name, definition } of wanted.values())
    await client.query(
      `create or replace view core_scoped.${name} as ${readFromCopies(definition, names)}`,
    )
  return names
}

/** The SQL of a view that reads the copies; its comments still name core. */
function readFromCopies(sql: string, names: readonly string[]): string {
  const { statement, comments } = splitComments(sql)
  const over = names.reduce(
    (text, name) => text.replaceAll(new RegExp(`\\bcore\\.${name}\\b`, 'g'), `core_scoped.${name}`),
    statement,
  )
  return over + comments
}

function splitComments(sql: string): { statement: string; comments: string } {
  const end = sql.search(/^comment on /m)
  return end < 0
    ? { statement: sql, comments: '' }
    : { statement: sql.slice(0, end), comments: sql.slice(end) }
}

function namesView(text: string, name: string): boolean {
  return new RegExp(`\\bcore\\.${name}\\b`).test(text)
}
