import { execFile } from 'node:child_process'
import { appendFile, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { openPool } from '#src/warehouse/db/connect.ts'
import { ensureEmbedded, stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { until } from '../support/child.ts'
import { databaseUrl } from '../support/postgres-url.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A separate Postgres that a test may kill. Commits survive a kill, but not a failure of the machine. */
export interface Cluster extends AsyncDisposable {
  readonly port: number
  /** The URL of its first database. */
  readonly url: string
  /** Creates a migrated warehouse and returns its URL. */
  warehouse(name: string): Promise<string>
  /** Crashes the server: all its processes end at once, and the next start recovers from the WAL. */
  crash(): Promise<void>
  /** On the same port. */
  start(): Promise<void>
  /** Starts a synchronous standby. All clients must be disconnected. */
  standby(): Promise<Standby>
}

/** The standby of a cluster, which can replace it. */
export interface Standby extends AsyncDisposable {
  readonly port: number
  /** Promotes it to the primary, and waits until it is. */
  promote(): Promise<void>
}

const execute = promisify(execFile)

const settings = {
  max_connections: '200',
  shared_buffers: '256MB',
  fsync: 'off',
  full_page_writes: 'off',
}

/** `folder`: where its files are; default a temporary one. */
export async function openCluster(given?: string): Promise<Cluster> {
  const folder = await temporaryFolder()
  const path = given ?? folder.path
  const first = await ensureEmbedded(path)
  await onServer(first.url, async (admin) => {
    for (const [name, value] of Object.entries(settings))
      await admin.query(`alter system set ${name} = '${value}'`)
  })
  await stopEmbedded(path)
  const { url, port } = await ensureEmbedded(path)
  return {
    port,
    url,
    standby: async () => await openStandby(path, url),
    warehouse: async (name) => await createWarehouse(url, name),
    crash: async () => await crash(path),
    start: async () => {
      await ensureEmbedded(path)
    },
    async [Symbol.asyncDispose]() {
      await stopEmbedded(path)
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function createWarehouse(server: string, name: string): Promise<string> {
  await onServer(server, async (admin) => {
    await admin.query(`create database ${name} template template0 encoding 'UTF8'`)
  })
  const url = databaseUrl(server, name)
  const pool = await openPool(url, { applicationName: 'tests', max: 2 })
  await prepareWarehouse(pool)
  await pool.end()
  return url
}

async function openStandby(primary: string, url: string): Promise<Standby> {
  const folder = await temporaryFolder()
  await stopEmbedded(primary)
  const [from, to] = [primary, folder.path].map((path) => join(path, 'cluster'))
  await cp(from!, to!, { recursive: true, preserveTimestamps: true })
  await ensureEmbedded(primary)
  const data = join(to!, 'data')
  const { hostname, port: its, username, password } = new URL(url)
  const conninfo = `host=${hostname} port=${its} user=${username} password=${password}`
  await writeFile(join(data, 'standby.signal'), '')
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
  await execute('chown', ['-R', '--reference', join(from!, 'data'), to!])
  const { port, url: own } = await ensureEmbedded(folder.path)
  await onServer(url, async (admin) => {
    await admin.query("alter system set synchronous_standby_names = '*'")
    await admin.query('select pg_reload_conf()')
    const state = "select from pg_stat_replication where sync_state = 'sync'"
    await until(async () => (await admin.query(state)).rowCount === 1)
  })
  return {
    port,
    promote: async () =>
      await onServer(own, async (admin) => {
        await admin.query('select pg_promote(true)')
      }),
    async [Symbol.asyncDispose]() {
      await stopEmbedded(folder.path)
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function onServer(url: string, act: (admin: pg.Pool) => Promise<void>): Promise<void> {
  const admin = await openPool(url, { applicationName: 'tests', max: 1 })
  try {
    await act(admin)
  } finally {
    await admin.end()
  }
}

async function crash(path: string): Promise<void> {
  const text = await readFile(join(path, 'cluster', 'data', 'postmaster.pid'), 'utf8')
  const pid = Number(text.split('\n')[0])
  // An immediate shutdown: without a checkpoint, and without waiting for clients.
  process.kill(pid, 'SIGQUIT')
  await until(() => !isAlive(pid))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
