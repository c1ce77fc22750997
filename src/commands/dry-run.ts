import { sql } from 'kysely'
import { connectWarehouse, embeddedFolder } from '../warehouse.ts'
import { embeddedStatus } from '../db/embedded.ts'
import { assertSchemaCurrent, migrationStatus } from '../db/migrate.ts'
import type { Db } from '../db/transaction.ts'
import {
  type DueReason,
  type DueScope,
  type DueWindow,
  dueWindows,
} from '../pipeline/due-windows.ts'
import { budgetOf, historyOf } from '../pipeline/enrichment-due.ts'
import type { Run } from '../pipeline/run-ledger.ts'
import { labelRooftops } from '../config/choose-rooftops.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import type { RunRequest } from '../pipeline/start-run.ts'
import type { BatchStream } from '../streams/batch-stream.ts'
import type { EnrichmentStream } from '../streams/enrichment-stream.ts'
import type { SnapshotStream } from '../streams/snapshot-stream.ts'
import type { Stream } from '../streams/stream.ts'
import type { WindowedStream } from '../streams/windowed-stream.ts'
import { fromUnixSeconds, toUnixSeconds } from '../values/unix-seconds.ts'
import { cutIntoWindows } from '../values/window.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

interface PlannedWork {
  readonly stream: string
  readonly rooftop: string
  readonly gap: number
  readonly recheck: number
  readonly deep: number
  readonly expectedLists: number
  readonly expectedReads: number
  /** Newest first, the first `mostShown`; ISO. */
  readonly windows: readonly { from: string; until: string; reason: DueReason }[]
  /** How many more there are; left out when that is all. */
  readonly windowsOmitted?: number
}

const mostShown = 1000
const mostPlanned = 1_000_000

/**
 * The plan of a run: windows by reason and the calls to expect, from what earlier windows held. Calls nothing and writes
 * nothing; it uses our clock instead of the source's, and a warehouse that does not exist yet covers nothing.
 */
export async function dryRun(session: Session, request: RunRequest): Promise<number> {
  await using warehouse = await findWarehouse(session)
  const db = warehouse?.db ?? null
  const now = toUnixSeconds(new Date())
  const begins = { runId: -1, status: 'running', startedAt: new Date(), sourceStart: now } as const
  const run: Run = { lane: 'foreground', ...request.plan, ...begins }
  const rooftops = db
    ? await findRooftops(db, request.rooftops)
    : request.rooftops.map(({ uid }) => ({ uid, id: 0 }))
  const plan: PlannedWork[] = []
  for (const stream of request.streams) {
    for (const rooftop of rooftops) {
      const scope = { rooftopId: rooftop.id, stream: stream.name, run }
      plan.push(await planOfAny(session, db, stream, rooftop.uid, scope))
    }
  }
  session.result({ dryRun: true, mode: request.plan.mode, plan }, () => {
    const label = labelRooftops(request.rooftops)
    const labelled = plan.map((row) => ({ ...row, rooftop: label(row.rooftop) }))
    return lines(labelled, db === null)
  })
  return 0
}

async function planOfAny(
  session: Session,
  db: Db | null,
  stream: Stream,
  uid: string,
  scope: DueScope,
): Promise<PlannedWork> {
  if (stream.kind === 'enrichment') return await planOfEnrichment(session, db, stream, uid, scope)
  if (stream.kind === 'batch') return await planOfBatches(session, db, stream, uid, scope)
  return await planOf(session, db, stream, uid, scope)
}

/** The warehouse as it is; null when it does not exist yet or has no tables. UsageError when its schema is an older one. */
async function findWarehouse({ config, log }: Session) {
  if (config.warehouse.url === null && !(await embeddedStatus(embeddedFolder(config))).initialised)
    return null
  const warehouse = await connectWarehouse(config, log)
  try {
    const { version } = await migrationStatus(warehouse.pool)
    if (version > 0) {
      await assertSchemaCurrent(warehouse.pool)
      return warehouse
    }
  } catch (error) {
    await warehouse[Symbol.asyncDispose]()
    throw error
  }
  await warehouse[Symbol.asyncDispose]()
  return null
}

const noWindows = { gap: 0, recheck: 0, deep: 0, windows: [] } as const

/** What is due of the evaluations that are known now; those that the run itself brings in come on top. */
async function planOfEnrichment(
  { config }: Session,
  db: Db | null,
  stream: EnrichmentStream,
  uid: string,
  { run }: DueScope,
): Promise<PlannedWork> {
  const about = { stream: stream.name, rooftop: uid }
  const plan = { ...about, ...noWindows, expectedLists: 0 }
  const rooftops = db ? await findRooftops(db, config.rooftops) : []
  const rooftop = rooftops.find((one) => one.uid === uid)
  if (db === null || rooftop === undefined || rooftop.id === 0 || !stream.serves(rooftop))
    return { ...plan, expectedReads: 0 }
  const now = fromUnixSeconds(run.sourceStart)
  const budget = budgetOf(stream, run, config)
  const siblings = rooftops.filter(({ groupId }) => groupId === rooftop.groupId).map(({ id }) => id)
  const ask = {
    now,
    runStart: now,
    limit: mostPlanned,
    budget,
    only: null,
    siblings,
    scope: 'all',
    history: historyOf(run),
  } as const
  const due = await stream.due(db, rooftop, ask, config)
  return { ...plan, expectedReads: due.length }
}

/** Look-ups, and of every batch that it is sent and asked for once at least. */
async function planOfBatches(
  { config }: Session,
  db: Db | null,
  stream: BatchStream,
  uid: string,
  { run }: DueScope,
): Promise<PlannedWork> {
  const plan = { stream: stream.name, rooftop: uid, ...noWindows, expectedLists: 0 }
  const rooftops = db ? await findRooftops(db, config.rooftops) : []
  const rooftop = rooftops.find((one) => one.uid === uid)
  if (db === null || rooftop === undefined || rooftop.id === 0) return { ...plan, expectedReads: 0 }
  if (stream.skipReason(rooftop, config) !== null) return { ...plan, expectedReads: 0 }
  const sourceStart = fromUnixSeconds(run.sourceStart)
  const ask = { runId: run.runId, sourceStart, again: false }
  const vins = await stream.lookUpsDue(db, rooftop, mostPlanned, sourceStart)
  const units = await stream.due(db, rooftop, { ...ask, limit: mostPlanned })
  const batches = Math.ceil(units.length / config.prices.batchSize)
  return { ...plan, expectedReads: vins.length + 2 * batches }
}

async function planOf(
  { config }: Session,
  db: Db | null,
  stream: WindowedStream | SnapshotStream,
  rooftop: string,
  scope: DueScope,
): Promise<PlannedWork> {
  const about = { stream: stream.name, rooftop }
  if (stream.kind === 'snapshot')
    return { ...about, ...noWindows, expectedLists: 2, expectedReads: 0 }
  const due = db
    ? await dueWindows(db, scope, config.sync, mostPlanned)
    : allWindows(scope.run, config.sync.windowHours * 3600)
  const count = (reason: DueReason) => due.filter((window) => window.reason === reason).length
  const average = db ? await recordsPerWindow(db, scope) : 0
  return {
    ...about,
    gap: count('gap'),
    recheck: count('recheck'),
    deep: count('deep'),
    expectedLists: due.length,
    expectedReads: Math.round(count('gap') * average),
    windows: due.slice(0, mostShown).map(({ from, until, reason }) => ({
      from: fromUnixSeconds(from).toISOString(),
      until: fromUnixSeconds(until).toISOString(),
      reason,
    })),
    ...(due.length > mostShown ? { windowsOmitted: due.length - mostShown } : {}),
  }
}

/** Nothing is covered: the whole range is a gap. */
function allWindows({ from, until, sourceStart }: Run, seconds: number): DueWindow[] {
  const range = { from, until: until ?? sourceStart }
  const openUntil = until === null ? sourceStart : null
  const windows = cutIntoWindows([range], seconds, openUntil, mostPlanned)
  return windows.map((window) => ({ ...window, reason: 'gap' }))
}

async function recordsPerWindow(db: Db, { rooftopId, stream }: DueScope): Promise<number> {
  const { rows } = await sql<{ average: number }>`
    select coalesce(avg(listed), 0)::float8 as average from ops.window_certificate
    where rooftop_id = ${rooftopId} and stream = ${stream}`.execute(db)
  return rows[0]!.average
}

function lines(plan: readonly PlannedWork[], isNew: boolean): string[] {
  return [
    "Plan by this machine's clock (nothing was called, nothing was written):",
    ...(isNew ? ['The warehouse does not exist yet, so nothing is covered.'] : []),
    ...table(
      ['stream', 'rooftop', 'not settled', 'recheck', 'deep', 'list calls', 'reads expected'],
      plan.map((row) => [
        row.stream,
        row.rooftop,
        row.gap,
        row.recheck,
        row.deep,
        row.expectedLists,
        row.expectedReads,
      ]),
    ),
  ]
}
