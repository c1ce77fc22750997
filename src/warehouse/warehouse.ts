import { existsSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Config } from '../app/config/read.ts'
import { UsageError } from '../errors.ts'
import type { Log } from '../log.ts'
import { assertMayMigrate, restoreAccess } from './access/restore.ts'
import { openPool, type PoolOptions } from './db/connect.ts'
import { ensureEmbedded } from './db/embedded.ts'
import { readMarts } from './db/mart-files.ts'
import { buildMarts, martsAreCurrent } from './db/marts.ts'
import {
  applyPending,
  assertSchemaCurrent,
  assertSchemaExists,
  migrationStatus,
  withMigrationLock,
} from './db/migrate.ts'
import { type Db, openDb } from './db/transaction.ts'

/** The open warehouse. */
export interface Warehouse extends AsyncDisposable {
  readonly config: Config
  readonly log: Log
  readonly pool: pg.Pool
  readonly db: Db
  /** The connection string, password included: for the demo's last lines, never for a log. */
  readonly url: string
  readonly embedded: boolean
}

export const embeddedFolder = (config: Config) =>
  path.join(config.homeDir, '.forecourt', 'postgres')

/** Connects to the warehouse (the embedded one is started when it is not running), without a check of its schema. */
export async function connectWarehouse(
  config: Config,
  log: Log,
  sessions: Partial<PoolOptions> = {},
): Promise<Warehouse> {
  const given = config.warehouse.url
  const url =
    given ?? (await ensureEmbedded(embeddedFolder(config), { log: (line) => log.info(line) })).url
  const pool = await openPool(url, { applicationName: 'forecourt', max: 16, ...sessions })
  const db = openDb(pool)
  const close = async () => {
    await pool.end()
  }
  return { config, log, pool, db, url, embedded: given === null, [Symbol.asyncDispose]: close }
}

/** Creates or updates schema, work queue and marts. `migrate` does this; commands that write update an older schema by it first. */
export async function prepareWarehouse(
  pool: pg.Pool,
): Promise<{ applied: string[]; isNew: boolean }> {
  const marts = await readMarts()
  const { pending, version } = await migrationStatus(pool)
  if (pending.length === 0 && version > 0) {
    await assertSchemaCurrent(pool)
    if ((await hasQueue(pool)) && (await martsAreCurrent(pool, marts)))
      return { applied: [], isNew: false }
  }
  const lacking = pending.length > 0 ? `migration ${pending[0]}` : `marts ${marts.version}`
  await assertMayMigrate(pool, lacking)
  // pg-boss fails when two processes install it at once.
  return await withMigrationLock(pool, async (client) => {
    const { applied } = await applyPending(client)
    const { installQueue } = await import('./queue/queue.ts')
    await installQueue(pool)
    const areBuilt = await martsAreCurrent(pool, marts)
    // A migration may have created tables that the writer role must be granted.
    if (!areBuilt || applied.length > 0) await buildMarts(pool, restoreAccess, marts)
    return {
      applied: areBuilt ? applied : [...applied, `marts ${marts.version}`],
      isNew: version === 0,
    }
  })
}

async function hasQueue(pool: pg.Pool): Promise<boolean> {
  const { rows } = await sql<{ present: boolean }>`
    select to_regclass('pgboss.queue') is not null as present`.execute(openDb(pool))
  return rows[0]!.present
}

/** UsageError in a folder with neither a config nor an embedded Postgres: it is the wrong one, and no Postgres must be made in it. */
export function assertWarehouseNamed(config: Config): void {
  if (config.file !== null || config.warehouse.url !== null) return
  const folder = embeddedFolder(config)
  if (existsSync(folder)) return
  throw new UsageError(
    `There is no forecourt.yaml in ${config.homeDir}, and no warehouse in ${folder}: go to the folder of the config, name it with --config <file>, or write one with "forecourt init".`,
  )
}

/** Opens a warehouse with a current schema. Only the embedded one is created here: `assertSchemaExists`. Commands that only read
 *  refuse an older schema instead of changing it. */
export async function openWarehouse(
  config: Config,
  log: Log,
  mode: 'read' | 'write',
  sessions: Partial<PoolOptions> = {},
): Promise<Warehouse> {
  const warehouse = await connectWarehouse(config, log, sessions)
  try {
    if (!warehouse.embedded) await assertSchemaExists(warehouse.pool)
    if (mode === 'write' || warehouse.embedded) {
      const { applied, isNew } = await prepareWarehouse(warehouse.pool)
      if (applied.length > 0) {
        const migrations = applied.filter((name) => !name.startsWith('marts ')).length
        log.info({ migrations }, `warehouse schema ${isNew ? 'created' : 'updated'}`)
        log.debug({ applied }, 'migrations and marts applied')
      }
    } else await assertSchemaCurrent(warehouse.pool)
    return warehouse
  } catch (error) {
    await warehouse[Symbol.asyncDispose]()
    throw error
  }
}
