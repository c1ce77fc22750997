import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import type { World } from '#src/sandbox/world.ts'
import { type Child, type ChildOptions, startForecourt } from '../../support/child.ts'
import { type CliResult, runInProcess } from '../../support/cli.ts'
import { clockShiftSeconds } from '../../support/clock-shift.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { now, smallWorld } from '../commands/sync-fixture.ts'

/** A row of ops.job_fire. */
export interface JobRun {
  readonly job_name: string
  readonly cause: string
  readonly slot_at: Date | null
  readonly status: string
  readonly attempt: number
  readonly made_up: boolean
  readonly claimed_at: Date
  readonly process_id: number
  readonly run_ids: readonly number[]
  readonly error: string | null
}

/** The small world, a warehouse, and a config with only the named jobs switched on. */
export interface ScheduleFixture extends AsyncDisposable {
  readonly sandbox: Sandbox
  readonly database: TestDatabase
  start(args: readonly string[], how?: Starting): Child
  /** Within this process. */
  run(args: readonly string[]): Promise<CliResult>
  jobRuns(jobName?: string): Promise<JobRun[]>
  /** A context of this process, closed by its owner. */
  context(changes?: Partial<Context>): Promise<Context>
}

export interface Starting {
  /** How many seconds its wall clock is ahead. */
  readonly aheadSeconds?: number
  readonly env?: ChildOptions['env']
}

const every = [
  ...['hourly', 'lake-export', 'nightly', 'recheck', 'reconcile'],
  ...['refresh-links', 'reprice', 'retention', 'stock-inbox', 'verify', 'watch-checks'],
]

export async function openScheduleFixture(
  jobs: NonNullable<ConfigInput['jobs']>,
  settings: ConfigInput = {},
  world: World = smallWorld(),
): Promise<ScheduleFixture> {
  const clock = new VirtualClock({ start: now, frozen: true })
  const sandbox = await startSandbox({ clock, world })
  const [database, folder] = [await createTestDatabase(), await temporaryFolder()]
  const off = Object.fromEntries(every.map((name) => [name, { enabled: false }]))
  const config: ConfigInput = {
    ...sandbox.clientConfig(),
    warehouse: { url: database.url },
    sync: { start: '2026-03-05' },
    http: { maxRetries: 0, timeoutSeconds: 10 },
    jobs: { ...off, ...jobs },
    ...settings,
  }
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify(config))
  const children: Child[] = []
  const start = (args: readonly string[], how: Starting = {}) => {
    const { env, ...clock } = shifted(how)
    const child = startForecourt(['--config', file, ...args], {
      ...{ cwd: folder.path, ...clock },
      env: { ...env, ...how.env },
    })
    children.push(child)
    return child
  }
  return {
    sandbox,
    database,
    start,
    run: async (args) => await runInProcess(['--config', file, ...args], { cwd: folder.path }),
    jobRuns: async (jobName = 'hourly') => {
      const text = 'select * from ops.job_fire where job_name = $1 order by fire_id'
      return (await database.pool.query<JobRun>(text, [jobName])).rows
    },
    context: async (changes = {}) => {
      const loaded = loadConfig(file, { variables: {}, cwd: folder.path })
      return { ...(await openContext(loaded, silent)), ...changes }
    },
    [Symbol.asyncDispose]: async () => {
      // Only a signal ends a scheduler, and a failing test does not stop its own.
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(children.map(({ ended }) => ended))
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
/** The path of libfaketime; undefined: not installed. */
export const clockLibrary = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path))
const shiftedClock = fileURLToPath(new URL('./shifted-clock.ts', import.meta.url))

/** Moves the clock with libfaketime, below Node, or otherwise by replacing Node's Date. */
export function shifted({ aheadSeconds }: Starting): Pick<ChildOptions, 'node' | 'env'> {
  if (aheadSeconds === undefined) return {}
  const seconds = String(aheadSeconds)
  if (clockLibrary === undefined)
    return { node: ['--import', shiftedClock], env: { TEST_CLOCK_AHEAD_SECONDS: seconds } }
  const env = {
    FAKETIME: offsetOf(aheadSeconds),
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    LD_PRELOAD: clockLibrary,
  }
  return { env: { ...env, DONT_FAKE_MONOTONIC: '1' } }
}

/** As libfaketime reads it. */
export function offsetOf(aheadSeconds: number): string {
  const seconds = clockShiftSeconds + aheadSeconds
  return `${seconds < 0 ? '' : '+'}${seconds}s`
}
