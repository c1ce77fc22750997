import type { Config } from '../config/read.ts'
import type { DueQuery, Enrichment, EnrichmentTask } from './enrichment.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import { untriedKeys } from './retry-slice.ts'
import type { Run } from './run-ledger.ts'
import type { SliceJob } from './stream.ts'

const tasksPerSlice = 200

type Job = SliceJob<Enrichment>

/** How many evaluations the run may still ask about; `hydrated` in its ledger counts those it has asked about. */
export async function budgetLeft({ context, run, stream, rooftop }: Job): Promise<number> {
  const row = await context.db
    .selectFrom('ops.run_stream')
    .select('hydrated')
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  return Math.max(0, budgetOf(stream, run, context.config) - (row?.hydrated ?? 0))
}

/** How many evaluations a run may ask about for one rooftop. */
export function budgetOf(stream: Enrichment, run: Run, config: Config): number {
  return (isHistory(run) ? stream.historyBudget?.(config) : stream.budget(config)) ?? 0
}

/** Whether the run is a backfill of history. A foreground run of the same mode loads fresh windows and asks for what is due. */
export function isHistory({ mode, lane }: Run): boolean {
  return mode === 'backfill' && lane === 'background'
}

/** The span of a backfill of history. null: the run asks for what is due. */
export function historyOf(run: Run): DueQuery['history'] {
  if (!isHistory(run)) return null
  return { from: fromUnixSeconds(run.from), until: fromUnixSeconds(run.until ?? run.sourceStart) }
}

/** The evaluations that the run asks about next. */
export async function dueTasks(job: Job, budget: number, now: Date): Promise<EnrichmentTask[]> {
  const { context, run, stream, rooftop } = job
  if (!stream.serves(rooftop)) return []
  const ask = {
    now,
    runStart: fromUnixSeconds(run.sourceStart),
    limit: tasksPerSlice,
    budget,
    only: run.mode === 'retry' ? await untriedKeys(job) : null,
    scope: run.mode === 'links' ? 'links' : 'all',
    history: historyOf(run),
    siblings: await askableRooftops(job),
  } as const
  return await stream.due(context.db, rooftop, ask, context.config)
}

/** Rooftops of the group that this run asks for as well, and that answered last time. A rooftop whose key fails does not stop the
 *  others. */
async function askableRooftops({
  context,
  run,
  stream,
  rooftop,
  siblings,
}: Job): Promise<number[]> {
  const served = siblings.filter((one) => stream.serves(one)).map(({ id }) => id)
  const { rows } = await context.pool.query<{ rooftop_id: number }>(
    `select rooftop_id from ops.run_stream as part
     where run_id = $1 and stream = $2 and rooftop_id = any($3) and status not in ('failed', 'parked')
       and coalesce((
         select last.status from ops.run_stream as last
         where last.rooftop_id = part.rooftop_id and last.stream = $2 and last.run_id < $1 and last.finished_at is not null
         order by last.run_id desc limit 1), 'ok') not in ('failed', 'parked')`,
    [run.runId, stream.name, served],
  )
  return [...new Set([rooftop.id, ...rows.map(({ rooftop_id }) => rooftop_id)])]
}
