import { sql } from 'kysely'
import type { Warehouse } from '../context.ts'
import { countDue } from '../pipeline/due.ts'
import type { Run } from '../pipeline/ledger.ts'
import { registerRooftops } from '../pipeline/rooftops.ts'
import type { RunRequest } from '../pipeline/run.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
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
}

/**
 * The plan of a run: windows by reason and the calls to expect, from what earlier windows held. Calls nothing; without
 * the source's clock it goes by ours.
 */
export async function dryRun(session: Session, request: RunRequest): Promise<number> {
  const warehouse = await session.warehouse('write')
  const now = toUnixSeconds(new Date())
  const run: Run = { ...request.plan, runId: -1, startedAt: new Date(), sourceStart: now }
  const rooftops = await registerRooftops(warehouse.db, request.rooftops)
  const plan: PlannedWork[] = []
  for (const stream of request.streams) {
    for (const rooftop of rooftops) {
      const about = { stream: stream.name, rooftop: rooftop.uid }
      if (stream.kind === 'snapshot') {
        plan.push({ ...about, gap: 0, recheck: 0, deep: 0, expectedLists: 2, expectedReads: 0 })
        continue
      }
      const due = await countDue(
        warehouse.db,
        { rooftopId: rooftop.id, stream: stream.name, run },
        session.config.sync,
      )
      const average = await recordsPerWindow(warehouse, rooftop.id, stream.name)
      const expectedReads = Math.round(due.gap * average)
      plan.push({
        ...about,
        ...due,
        expectedLists: due.gap + due.recheck + due.deep,
        expectedReads,
      })
    }
  }
  session.result({ dryRun: true, mode: request.plan.mode, plan }, () => [
    'Plan (nothing was called):',
    ...table(
      ['stream', 'rooftop', 'new windows', 'recheck', 'deep', 'list calls', 'reads expected'],
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
  ])
  return 0
}

async function recordsPerWindow(
  { db }: Warehouse,
  rooftopId: number,
  stream: string,
): Promise<number> {
  const { rows } = await sql<{ average: number }>`
    select coalesce(avg(listed), 0)::float8 as average from ops.window_certificate
    where rooftop_id = ${rooftopId} and stream = ${stream}`.execute(db)
  return rows[0]!.average
}
