import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { errorText } from '#src/errors.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { ensureEmbedded, stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { cleanUpAfter, fastFolder, removeLeftOvers } from './clean-up.ts'
import { folderPrefix } from './temporary-folder.ts'

/** A Postgres in which tests may create databases. */
export interface StartedServer {
  readonly url: string
  /** For the one line that says what the tests run on. */
  readonly description: string
  readonly stop: () => Promise<void>
}

type Settings = Readonly<Record<string, string>>

const connections: Settings = { max_connections: '200' }
// Nothing here outlives the run, so it need not survive a power cut.
const hasty: Settings = {
  ...connections,
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // Its workers took a tenth of the server's time, for databases that end before they gain from it.
  autovacuum: 'off',
}
/** As a server of its own would be set up for a bulk load; what is written is on the disk. */
const durable: Settings = { ...connections, shared_buffers: '512MB', max_wal_size: '4GB' }

/**
 * TEST_DATABASE_URL, else a container where a Docker engine answers, else embedded Postgres. `durable`: it writes as it would
 * at home, for what is measured.
 */
export async function startServer(options: { durable?: boolean } = {}): Promise<StartedServer> {
  const isDurable = options.durable === true
  const settings = isDurable ? durable : hasty
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined && given !== '')
    return {
      url: given,
      description: 'the Postgres of TEST_DATABASE_URL',
      stop: async () => undefined,
    }
  if (await hasDocker()) {
    try {
      return await startContainer(settings)
    } catch (error) {
      console.log(`No container for the tests (${errorText(error)}), taking embedded Postgres`)
    }
  }
  return startEmbedded(settings, isDurable ? tmpdir() : await fastFolder())
}

/** DOCKER_HOST names an engine, also where there is no program called docker: Podman answers there too. */
async function hasDocker(): Promise<boolean> {
  if (process.env['DOCKER_HOST'] !== undefined) return true
  try {
    await promisify(execFile)('docker', ['version', '--format', '{{.Server.Version}}'], {
      timeout: 2_000,
    })
    return true
  } catch {
    return false
  }
}

async function startContainer(settings: Settings): Promise<StartedServer> {
  // Loaded only where it is used: it takes longer than the whole embedded start.
  const { GenericContainer, Wait } = await import('testcontainers')
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const container = await new GenericContainer('postgres:18')
    .withEnvironment({ POSTGRES_PASSWORD: 'test' })
    .withCommand(['postgres', ...flags])
    .withExposedPorts(5432)
    // The image starts the server twice; only the second start listens for good.
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start()
  const url = `postgres://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
  return {
    url,
    description: 'postgres:18 in a container',
    stop: async () => {
      await container.stop()
    },
  }
}

/** Stores the password with one hash instead of 4,096, which each of some thousand connections would repeat. */
async function hastenLogins(pool: pg.Pool, url: string): Promise<void> {
  const { username, password } = new URL(url)
  await pool.query(`set scram_iterations = 1; alter role ${username} password '${password}'`)
}

async function startEmbedded(settings: Settings, parent: string): Promise<StartedServer> {
  await removeLeftOvers()
  const folder = await mkdtemp(join(parent, `${folderPrefix}${process.pid}-`))
  const stop = cleanUpAfter(folder)
  const { url } = await ensureEmbedded(folder)
  const pool = await openPool(url, { applicationName: 'tests', max: 1 })
  for (const [name, value] of Object.entries(settings))
    await pool.query(`alter system set ${name} = '${value}'`)
  if (settings === hasty) await hastenLogins(pool, url)
  await pool.end()
  await stopEmbedded(folder)
  const restarted = await ensureEmbedded(folder)
  return {
    url: restarted.url,
    description: `embedded Postgres 18 in ${folder}`,
    stop,
  }
}
