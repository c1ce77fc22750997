import type pg from 'pg'
import { errorText, OutdatedError, UnreachableError, UsageError } from '../../errors.ts'
import { withSessionLock } from './locks.ts'
import { type Migration, migrationsFolder, readMigrations } from './migration-files.ts'

/** A row of the ledger. */
interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly appliedAt: Date
}

/** The migrations of a warehouse compared with the files. */
interface MigrationStatus {
  /** The highest applied version, 0 for an empty warehouse. */
  readonly version: number
  readonly pending: string[]
  readonly applied: AppliedMigration[]
}

interface LedgerRow extends AppliedMigration {
  readonly checksum: string
}

/** Applies pending migrations, each file with its ledger row in its own transaction; two runs at once are safe. UsageError when a
 *  file is broken or edited, or the warehouse is newer. */
export async function migrate(
  pool: pg.Pool,
  folder: string = migrationsFolder(),
): Promise<{ applied: string[] }> {
  return await withMigrationLock(pool, (client) => applyPending(client, folder))
}

/** Runs `change` while no other process changes the schema; its client holds the lock. */
export async function withMigrationLock<Result>(
  pool: pg.Pool,
  change: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  return await withSessionLock(pool, { name: 'migration' }, change)
}

/** Like `migrate`, for a caller that holds the migration lock. */
export async function applyPending(
  client: pg.ClientBase,
  folder: string = migrationsFolder(),
): Promise<{ applied: string[] }> {
  const files = await readMigrations(folder)
  await createLedger(client)
  const pending = pendingMigrations(files, await readLedger(client))
  for (const file of pending) await apply(client, file)
  return { applied: pending.map((file) => file.file) }
}

/** What is applied and what is pending; changes nothing. UsageError as `migrate`. */
export async function migrationStatus(
  pool: pg.Pool,
  folder: string = migrationsFolder(),
): Promise<MigrationStatus> {
  const files = await readMigrations(folder)
  const ledger = await readLedger(pool)
  return {
    version: ledger.at(-1)?.version ?? 0,
    pending: pendingMigrations(files, ledger).map((file) => file.file),
    applied: ledger.map(({ version, name, appliedAt }) => ({ version, name, appliedAt })),
  }
}

/** Whether the database has a whole schema: a restore creates the ledger first, and its key only after all rows. */
export async function hasSchema(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    `select to_regclass('ops.schema_migration_pkey') is not null as found`,
  )
  return rows[0]?.found === true && (await readLedger(pool)).length > 0
}

/** UnreachableError, for which a process that runs until it is stopped waits, when the database has no schema: only `migrate` creates
 *  one, because the database may be a wrong one, or a backup may be about to be restored into it. */
export async function assertSchemaExists(pool: pg.Pool): Promise<void> {
  if (await hasSchema(pool)) return
  const { rows } = await pool.query<{ name: string }>('select current_database() as name')
  throw new UnreachableError(
    `The database "${rows[0]!.name}" has no schema of Forecourt: run "forecourt migrate" to create it, wait if a backup is being ` +
      'restored into it, or correct warehouse.url if it is the wrong one.',
    true,
  )
}

/** UsageError unless the warehouse has exactly the migrations that this code knows. */
export async function assertSchemaCurrent(
  pool: pg.Pool,
  folder: string = migrationsFolder(),
): Promise<void> {
  const { pending } = await migrationStatus(pool, folder)
  if (pending.length > 0)
    throw new UsageError(
      `The warehouse lacks ${pending.length} migration(s), the first is ${pending[0]}: ` +
        'run forecourt migrate.',
    )
}

/** OutdatedError when the warehouse has a migration beyond `known`. Called in the transaction before its commit, and by idle workers. */
export async function assertSchemaKnown(
  client: pg.ClientBase | pg.Pool,
  known: number,
): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    'select max(version) as version from ops.schema_migration',
  )
  const version = rows[0]?.version ?? 0
  if (version <= known) return
  throw new OutdatedError(
    `The warehouse is at migration ${version}, this process knows ${known}: nothing was written; restart it with the new version.`,
  )
}

// `create … if not exists` does not protect against a simultaneous run; the advisory lock does.
async function createLedger(client: pg.ClientBase): Promise<void> {
  if (await hasLedger(client)) return
  await client.query(`
    create schema if not exists ops;
    create table if not exists ops.schema_migration (
      version int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now()
    );
    comment on table ops.schema_migration is
      'One row per applied file of sql/migrations; written by the migration runner alone.'`)
}

async function hasLedger(client: pg.ClientBase | pg.Pool): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select to_regclass('ops.schema_migration') is not null as found`,
  )
  return rows[0]?.found === true
}

async function readLedger(client: pg.ClientBase | pg.Pool): Promise<LedgerRow[]> {
  if (!(await hasLedger(client))) return []
  const { rows } = await client.query<LedgerRow>(
    `select version, name, checksum, applied_at as "appliedAt"
     from ops.schema_migration
     order by version`,
  )
  return rows
}

function pendingMigrations(files: readonly Migration[], ledger: readonly LedgerRow[]): Migration[] {
  const known = new Map(files.map((file) => [file.version, file]))
  for (const row of ledger) {
    const file = known.get(row.version)
    if (file === undefined)
      throw new UsageError(
        `This warehouse is newer: it has migration ${row.version} (${row.name}), which this ` +
          'forecourt does not know, so upgrade forecourt.',
      )
    if (file.checksum !== row.checksum)
      throw new UsageError(
        `${file.file} was edited after it was applied to this warehouse: ` +
          'restore the file and put the change into a new migration.',
      )
  }
  const last = ledger.at(-1)?.version ?? 0
  const applied = new Set(ledger.map((row) => row.version))
  const pending = files.filter((file) => !applied.has(file.version))
  const late = pending.find((file) => file.version < last)
  if (late !== undefined)
    throw new UsageError(
      `${late.file} comes before migration ${last}, which this warehouse already has: ` +
        'give the file a higher number.',
    )
  return pending
}

async function apply(client: pg.ClientBase, migration: Migration): Promise<void> {
  const { version, name, checksum, sql } = migration
  await client.query('begin')
  try {
    await client.query(sql)
    await client.query(
      `insert into ops.schema_migration (version, name, checksum)
       values ($1::int, $2::text, $3::text)`,
      [version, name, checksum],
    )
    await client.query('commit')
  } catch (cause) {
    // The connection may be gone; then the server has rolled back, and the cause is what matters.
    await client.query('rollback').catch(() => undefined)
    throw new UsageError(
      `Migration ${migration.file}${errorLine(sql, cause)} failed and was rolled back ` +
        `(${errorText(cause)}): correct the file and run forecourt migrate again.`,
      { cause },
    )
  }
}

function errorLine(sql: string, cause: unknown): string {
  const position = Number((cause as { position?: string } | null)?.position)
  if (!Number.isInteger(position) || position < 1) return ''
  // Postgres counts characters, JavaScript UTF-16 units.
  const before = [...sql].slice(0, position - 1)
  return ` line ${before.filter((character) => character === '\n').length + 1}`
}
