import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect } from 'vitest'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import {
  type Child,
  type ChildOptions,
  type ChildResult,
  startForecourt,
} from '../support/child.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-18T02:15:00Z')
const days = 2
const bounds = { from: '2026-03-15', to: '2026-03-19' }

/** The size of a deployment, and the addresses of its parts. */
export interface DeploymentPlan {
  /** The URL of its migrated warehouse. */
  readonly url: string
  readonly rooftops: number
  readonly evaluations: number
  /** The address on which the source listens; default 127.0.0.1. */
  readonly sourceHost?: string
  /** The address at which its processes reach the source; default: the one on which it listens. */
  readonly sourceAddress?: string
  readonly windowHours?: number
}

/** How a process of a deployment reaches the others; defaults come from the plan. */
export interface ProcessOptions {
  readonly warehouseUrl?: string
  readonly sourcePort?: number
  /** The command that starts the process, e.g. `ip netns exec host`. */
  readonly launcher?: ChildOptions['launcher']
}

/** A source with many rooftops, one warehouse, and its processes, which are all killed at the end. */
export interface Deployment extends AsyncDisposable {
  readonly url: string
  readonly sandbox: Sandbox
  readonly pool: pg.Pool
  start(args: readonly string[], place?: ProcessOptions): Promise<Child>
  run(args: readonly string[]): Promise<ChildResult>
  /** Starts a worker, and waits until it works. */
  worker(place?: ProcessOptions): Promise<Child>
  /** Starts a detached backfill of all rooftops. */
  startBackfill(): Promise<void>
  progress(): Promise<Progress>
  /** The active work in the queue, each with its attempt. */
  activeWork(): Promise<ReadonlySet<string>>
}

/** The progress of the work. */
export interface Progress {
  readonly status: string
  readonly done: number
  readonly open: number
}

export async function openDeployment(plan: DeploymentPlan): Promise<Deployment> {
  const { rooftops, evaluations, url } = plan
  const host = plan.sourceHost ?? '127.0.0.1'
  const clock = new VirtualClock({ start: now, frozen: true })
  const sandbox = await startSandbox({ clock, now, rooftops, evaluations, days, host })
  const [pool, folder] = [await openDeploymentPool(url), await temporaryFolder()]
  const children: Child[] = []
  let files = 0
  const start = async (args: readonly string[], place: ProcessOptions = {}) => {
    const file = join(folder.path, `forecourt-${++files}.yaml`)
    await writeFile(file, JSON.stringify(configOf(plan, sandbox, place)))
    const child = startForecourt(['--config', file, ...args], {
      cwd: folder.path,
      launcher: place.launcher,
    })
    children.push(child)
    return child
  }
  const run = async (args: readonly string[]) => await (await start(args)).ended
  return {
    ...{ url, sandbox, pool, start, run },
    worker: async (place) => await worker(await start(['worker'], place)),
    startBackfill: async () => {
      const ends = await run(['backfill', 'evaluations', ...range, '--detach'])
      expect(ends, ends.stderr).toMatchObject({ code: 0 })
    },
    progress: async () => await readProgress(pool),
    activeWork: async () => await underWay(pool),
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(children.map(({ ended }) => ended))
      await Promise.all([sandbox.close(), pool.end()])
      await folder[Symbol.asyncDispose]()
    },
  }
}

const range = ['--from', bounds.from, '--to', bounds.to]

async function openDeploymentPool(url: string): Promise<pg.Pool> {
  return await openPool(url, { applicationName: 'tests', max: 4 })
}

function configOf(plan: DeploymentPlan, sandbox: Sandbox, place: ProcessOptions): ConfigInput {
  const config = sandbox.clientConfig()
  const at = new URL(config.appraisal.baseUrl)
  at.hostname = plan.sourceAddress ?? plan.sourceHost ?? '127.0.0.1'
  at.port = String(place.sourcePort ?? at.port)
  return {
    ...config,
    appraisal: { baseUrl: at.href },
    warehouse: { url: place.warehouseUrl ?? plan.url },
    sync: { start: bounds.from, windowHours: plan.windowHours ?? 744 },
    http: { maxRetries: 2, timeoutSeconds: 10 },
  }
}

async function worker(child: Child): Promise<Child> {
  const ended = child.ended.then(({ stderr }) => {
    throw new Error(`The worker ended before it worked: ${stderr}`)
  })
  ended.catch(() => undefined)
  await Promise.race([ended, every(50, () => child.stderr().includes('"at work"'))])
  return child
}

async function readProgress(pool: pg.Pool): Promise<Progress> {
  const { rows } = await pool.query<Progress>(`
    select run.status, count(*) filter (where line.status not in ('waiting', 'running'))::int as done,
      count(*) filter (where line.status in ('waiting', 'running'))::int as open
    from ops.run as run join ops.run_stream as line using (run_id)
    group by run_id order by run_id desc limit 1`)
  return rows[0]!
}

async function underWay(pool: pg.Pool): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ piece: string }>(
    "select id || ' ' || retry_count as piece from pgboss.job where state = 'active'",
  )
  return new Set(rows.map(({ piece }) => piece))
}

/** Polls until the condition holds. An exception, such as from a Postgres that is down, counts as false. */
async function every(ms: number, condition: () => boolean | Promise<boolean>): Promise<void> {
  const holds = async () => await condition()
  while (!(await holds().catch(() => false))) await sleep(ms)
}

/** Waits for a condition and returns the seconds it took. Throws an error that names it after `seconds`. */
export async function waitAtMost(
  seconds: number,
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
): Promise<number> {
  const from = performance.now()
  const late = sleep(seconds * 1000, 'late' as const)
  const met = every(100, condition).then(() => 'met' as const)
  if ((await Promise.race([met, late])) === 'late')
    throw new Error(`Not within ${seconds} s: ${typeof what === 'string' ? what : what()}`)
  return (performance.now() - from) / 1000
}

/**
 * The seconds until all work that was active at a fault has ended or been taken over, and new work has been committed. `held`: the
 * work that was active.
 */
export async function secondsToRecover(
  deployment: Deployment,
  held: ReadonlySet<string>,
  before: Progress,
): Promise<number> {
  return await waitAtMost(15, 'the others take over the active work, and continue', async () => {
    const now = await deployment.activeWork()
    const { done, open } = await deployment.progress()
    return held.isDisjointFrom(now) && (done > before.done || open === 0)
  })
}

/** Expects that the warehouse equals the source. Returns the number of evaluations. */
export async function expectTruth({ sandbox, pool }: Deployment): Promise<number> {
  const expected = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  expect(differences(expected, await warehouseTruth(pool, 'rooftop')).slice(0, 10)).toEqual([])
  return expected.length
}

/** The same after a single run, whose ledger must count every record once. */
export async function expectTruthOnce(deployment: Deployment): Promise<void> {
  const count = await expectTruth(deployment)
  const { rows } = await deployment.pool.query(ledgerSql)
  expect(rows[0]).toEqual({
    ...{ evaluations: count, versions: count, payloads: count, inserted: count, listed: count },
    ...{ certified: count, windows: rows[0].certificates, certificates: rows[0].certificates },
  })
}

/** Counts that a slice committed twice would double. */
const ledgerSql = `
  with counted as (
    select sum(inserted)::int as inserted, sum(listed - vanished)::int as listed, sum(windows)::int as windows
    from ops.run_stream
  ), certified as (
    select count(*)::int as certificates, sum(listed - vanished)::int as certified from ops.window_certificate
  )
  select (select count(*)::int from core.evaluation) as evaluations,
    (select count(*)::int from core.evaluation_version) as versions,
    (select count(*)::int from raw.payload where endpoint = 'geteval') as payloads, *
  from counted, certified`
