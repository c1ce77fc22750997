import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import type { Lane } from '#src/sync/run/run-ledger.ts'
import { runStreams, startDetached } from '#src/sync/run/run-streams.ts'
import type { RunRequest } from '#src/sync/run/start-run.ts'
import { coverageFaults } from '../support/coverage-faults.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

export const now = new Date('2026-03-10T02:00:00Z')
const settleDays = 3
const hour = 3600

/** Two rooftops; a backfill with windows of six hours makes several slices at each. */
export async function lanesFixture(): Promise<Fixture> {
  return await openFixture({
    sandbox: { now, rooftops: 2, evaluations: 60, days: 20 },
    sync: { windowHours: 6, settleDays },
    http: { concurrency: 4 },
  })
}

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** A separate context on the same warehouse; ends when it is disposed. */
export async function another({ config }: Fixture, signal?: AbortSignal): Promise<Context> {
  return await openContext(config, silent, signal === undefined ? {} : { signal })
}

export const historyFrom = Date.UTC(2025, 11, 1) / 1000

export function history(
  { config }: Fixture,
  lane: Lane = 'background',
  from = historyFrom,
): RunRequest {
  const plan = { command: 'backfill', mode: 'backfill', lane, from } as const
  return { plan: { ...plan, until: null }, streams: [evaluations], rooftops: config.rooftops }
}

/** Starts a backfill and returns when it has committed some slices. */
export async function backfillUnderWay(
  fixture: Fixture,
  context: Context,
  slices = 3,
  from = historyFrom,
) {
  const ended = runStreams(context, history(fixture, 'background', from)).then(
    (report) => ({ report, error: null }),
    (error: unknown) => ({ report: null, error }),
  )
  await fenceReaches(fixture, slices)
  return { ended }
}

export async function detachedBackfill(fixture: Fixture, context: Context): Promise<number> {
  return (await startDetached(context, history(fixture))).run.runId
}

async function fenceReaches({ database: { pool } }: Fixture, slices: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query('select from ops.run where fence >= $1', [slices])
    if (rows.length > 0) return
    await new Promise((next) => setTimeout(next, 10))
  }
}

export async function runsOf({ database: { pool } }: Fixture) {
  const { rows } = await pool.query<{ lane: string; status: string; fence: number }>(
    'select lane, status, fence from ops.run order by run_id',
  )
  return rows
}

/** Faults in rows, windows and coverage; must be empty. */
export async function faultsOf({ sandbox, database }: Fixture, from = historyFrom) {
  const rows = differences(
    sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop'),
    await warehouseTruth(database.pool, 'rooftop'),
  )
  const settled = new Date(now.getTime() - (settleDays * 24 + 6) * hour * 1000)
  const span = { from: new Date(from * 1000), until: now, settled }
  return [...rows, ...(await coverageFaults(database.pool, span))]
}
