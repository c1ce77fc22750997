import { sql } from 'kysely'
import { storable } from '../../values/text.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { daySeconds } from '../../values/window.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import type { SliceJob } from '../run/stream.ts'
import type { Enrichment, EnrichmentTask } from './enrichment.ts'
import type { Answer } from './request-all.ts'

const hourMs = 3_600_000
/** Margin so that a night that starts a little earlier than the last one still finds everything due. */
const marginMs = hourMs

/** When the stream may use the rooftop's key again; null: now. */
export async function parkedUntil(
  db: Db,
  { stream, rooftop }: Pick<SliceJob, 'stream' | 'rooftop'>,
  now: Date,
): Promise<{ readonly until: Date; readonly reason: string } | null> {
  const row = await db
    .selectFrom('ops.parked')
    .select(['until', 'reason'])
    .where('key_name', '=', rooftop.keyName)
    .where('stream', '=', stream.name)
    .where('until', '>', now)
    .executeTakeFirst()
  return row ?? null
}

/** Parks the stream for the rooftop's key until the source's UTC day ends, as quotas are per UTC day. */
export async function park(
  tx: Tx,
  { stream, rooftop }: SliceJob,
  now: Date,
  reason: string,
): Promise<void> {
  const until = new Date(now)
  until.setUTCHours(24, 0, 0, 0)
  const values = { until, reason: storable(reason).slice(0, 400) }
  await tx.db
    .insertInto('ops.parked')
    .values({ key_name: rooftop.keyName, stream: stream.name, ...values })
    .onConflict((conflict) => conflict.columns(['key_name', 'stream']).doUpdateSet(values))
    .execute()
}

/** When a slice sent its requests, by the source's clock. */
export interface RequestSpan {
  /** Before the first request. Any later edit is new to us. */
  readonly began: Date
  /** After the last answer. */
  readonly now: Date
}

/** Records the outcome for every evaluation that was asked about, and when it is due again. Returns the evaluations with an outcome
 *  that is not the one before. */
export async function recordAnswers(
  tx: Tx,
  job: SliceJob<Enrichment>,
  answers: readonly Answer[],
  { began, now }: RequestSpan,
): Promise<ReadonlySet<number>> {
  if (answers.length === 0) return new Set()
  const refused = await readRefused(tx, job, answers)
  const states = answers.map((answer) => answerState(job, answer, now, refused))
  const { rows } = await sql<{ evalId: number; isChanged: boolean }>`
    with before as (
      select eval_id, ask, outcome from ops.enrichment_state
      where rooftop_id = ${job.rooftop.id} and stream = ${job.stream.name} and eval_id = any(${states.map(({ evalId }) => evalId)}::bigint[])
    )
    insert into ops.enrichment_state as old
      (rooftop_id, stream, eval_id, ask, next_due_at, last_asked_at, polling_since, failures, outcome, detail, refused_key)
    select ${job.rooftop.id}, ${job.stream.name}, state.*
    from unnest(${states.map(({ evalId }) => evalId)}::bigint[], ${states.map(({ ask }) => ask)}::text[], ${states.map(({ nextDueAt }) => nextDueAt)}::timestamptz[],
      ${states.map(() => began)}::timestamptz[], ${states.map(({ pollingSince }) => pollingSince)}::timestamptz[],
      ${states.map(({ failures }) => failures)}::int[], ${states.map(({ outcome }) => outcome)}::text[],
      ${states.map(({ detail }) => detail)}::text[], ${states.map(({ refusedKey }) => refusedKey)}::text[]) as state
    on conflict (rooftop_id, stream, eval_id, ask) do update
    set next_due_at = excluded.next_due_at, last_asked_at = excluded.last_asked_at,
      polling_since = excluded.polling_since, failures = excluded.failures, outcome = excluded.outcome, detail = excluded.detail,
      refused_key = excluded.refused_key
    returning eval_id as "evalId", not exists (
      select from before where before.eval_id = old.eval_id and before.ask = old.ask and before.outcome = old.outcome) as "isChanged"
  `.execute(tx.db)
  return new Set(rows.flatMap(({ evalId, isChanged }) => (isChanged ? [evalId] : [])))
}

/** Of the keys that answers name as refused, perhaps, those that are. */
async function readRefused(
  { db }: Tx,
  { rooftop }: SliceJob,
  answers: readonly Answer[],
): Promise<ReadonlySet<string>> {
  const named = answers.flatMap((answer) => (answer.kind === 'failed' && answer.refusedKey) || [])
  if (named.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    select key from unnest(${[...new Set(named)]}::text[]) as key where ops.is_refused(key, ${rooftop.uid})`.execute(
    db,
  )
  return new Set(rows.map(({ key }) => key))
}

interface State {
  readonly evalId: number
  readonly ask: string
  readonly outcome: 'answered' | 'processing' | 'skipped' | 'rejected' | 'failed'
  readonly nextDueAt: Date | null
  readonly pollingSince: Date | null
  readonly failures: number
  readonly detail: string | null
  readonly refusedKey: string | null
}

/** The new state of an evaluation after its answer, with its next due time. */
function answerState(
  job: SliceJob<Enrichment>,
  answer: Answer,
  now: Date,
  refused: ReadonlySet<string>,
): State {
  const { stream, run } = job
  const { task, kind } = answer
  const runStart = fromUnixSeconds(run.sourceStart)
  const base = {
    evalId: task.evalId,
    ask: task.ask,
    pollingSince: null,
    failures: 0,
    detail: null,
    refusedKey: null,
  }
  if (kind === 'failed') {
    const failures = task.failures + 1
    // Less than a day, so that it is due again the next night.
    const { reason } = answer
    const refusedKey =
      answer.refusedKey != null && refused.has(answer.refusedKey) ? answer.refusedKey : null
    // A refused key is corrected by a person, and then everything is missing: the next run reads it, however often it failed.
    const hours = refusedKey === null ? Math.min(2 ** (failures - 1), 23) : 0
    const nextDueAt = new Date(runStart.getTime() + hours * hourMs)
    return {
      ...base,
      outcome: kind,
      failures,
      nextDueAt,
      detail: storableDetail(reason),
      refusedKey,
    }
  }
  // An answer that could not be read counts as none: the next run asks again.
  if (kind === 'rejected')
    return { ...base, outcome: kind, failures: task.failures + 1, nextDueAt: runStart }
  const { everySeconds, maxWaitSeconds } = stream.polling
  // If an earlier run left it pending, for example because it was killed, the wait starts again.
  const isOfThisRun = task.pollingSince !== null && task.pollingSince >= runStart
  const pollingSince = isOfThisRun ? task.pollingSince : now
  const mayWait = now.getTime() - pollingSince.getTime() < maxWaitSeconds * 1000
  if (kind === 'answered' && stream.isPending(answer.record) && mayWait) {
    const nextDueAt = new Date(now.getTime() + everySeconds * 1000)
    return { ...base, outcome: 'processing', nextDueAt, pollingSince }
  }
  const nextDueAt = nextDue(job, task, runStart)
  const detail = kind === 'skipped' ? storableDetail(answer.reason) : null
  return { ...base, outcome: kind, nextDueAt, detail }
}

/** The next due time, counted from the run's start. Counted from a late slice, an evaluation would miss the next night. */
function nextDue(
  { stream, context: { config } }: SliceJob<Enrichment>,
  { completedAt, ask }: EnrichmentTask,
  runStart: Date,
): Date | null {
  const dayMs = daySeconds * 1000
  const ageDays = (runStart.getTime() - completedAt.getTime()) / dayMs
  const days = stream.daysUntilDue(ageDays, ask, config)
  return days === null ? null : new Date(runStart.getTime() + days * dayMs - marginMs)
}

function storableDetail(reason: string): string {
  return storable(reason).slice(0, 400)
}

/** When this run polls its next pending answer; null: it waits for none. An answer that was due when the slice began, but was not
 *  polled, is ignored: its evaluation is gone. */
export async function nextPollAt(
  { db }: Tx,
  { stream, rooftop, run }: SliceJob,
  began: Date,
): Promise<Date | null> {
  const row = await db
    .selectFrom('ops.enrichment_state')
    .select(({ fn }) => fn.min('next_due_at').as('at'))
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('polling_since', 'is not', null)
    .where('last_asked_at', '>=', fromUnixSeconds(run.sourceStart))
    .where('next_due_at', '>', began)
    .executeTakeFirst()
  return row?.at ?? null
}
