import type { Config } from '../config.ts'
import type { Tx } from '../db/transaction.ts'
import { holdErasureLock } from '../erasure/suppression.ts'
import { SyncError } from '../errors.ts'
import {
  type DueQuery,
  type EnrichmentStream,
  type EnrichmentTask,
  naturalKeyOf,
} from '../streams/enrichment-stream.ts'
import type { Issue, Loaded, LoadOutcome } from '../streams/record.ts'
import { contentHash } from '../values/content-hash.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import { askableRooftops } from './askable.ts'
import { type Answer, type AskResult, askAll, type StopReason } from './ask-source.ts'
import { recordWarnings } from './data-quality.ts'
import { type AskSpan, nextPollAt, recordAnswers, park, parkedUntil } from './enrichment-state.ts'
import { addCounts, type Counts, type Run, zeroCounts } from './run-ledger.ts'
import { savePayloads, newestHashes } from './load-records.ts'
import { countAttempts, quarantineRecords, release } from './quarantine.ts'
import { untriedKeys } from './retry-slice.ts'
import { scrubAnswers } from './scrub-answers.ts'
import type { SliceJob } from './slice.ts'
import type { FinishSlice, SliceResult } from './windowed-slice.ts'
import { writeIsolated } from './write-isolated.ts'

const tasksPerSlice = 200

type Job = SliceJob<EnrichmentStream>
type Answered = Extract<Answer, { kind: 'answered' }>

/**
 * One slice of an enrichment: what is due → asked side by side → one transaction with observations, payloads, states and the
 * fenced completion of the work. What was not asked, and what a crash threw away, stays due.
 */
export async function enrichmentSlice(job: Job, finish: FinishSlice): Promise<SliceResult> {
  const { context } = job
  if (job.run.mode === 'replay')
    throw new SyncError('abort', `${job.stream.name} cannot be rebuilt from payloads yet.`)
  const began = context.appraisal.clock.now()
  const budget = await budgetLeft(job)
  const tasks = await dueTasks(job, budget, began)
  const { answers, ending } = await askUnlessParked(job, tasks)
  const now = context.appraisal.clock.now()
  context.crashPoint('before-commit')
  const store = async (tx: Tx, kept: readonly Answer[]) => {
    await holdErasureLock(tx)
    const ours = await scrubAnswers(tx, job, await stillOurs(tx, job, kept))
    return await writeAnswers(tx, job, ours, { began, now })
  }
  const result = await writeIsolated(job, answers, {
    store,
    reject: rejected,
    write: async (tx, kept) => {
      const counts = await store(tx, kept)
      await releaseGone(tx, job)
      if (ending?.verdict === 'park') await park(tx, job, now, ending.reason)
      context.crashPoint('rows-written')
      const asked = tasks.filter(({ again }) => !again).length
      // What was answered may make something else due; what was asked is not due again in this run.
      const isMore = tasks.length > 0 && (asked === 0 || budget > asked)
      const pollAt = ending === null && !isMore ? await nextPollAt(tx, job, began) : null
      const next = whatNext({ answers: kept, ending }, isMore, pollAt, now)
      const saved = next.more || ending !== null ? 0 : await savedCalls(tx, job)
      const outcome = { counts: { ...counts, saved }, ...next }
      await finish(tx, outcome)
      context.crashPoint('ledger-written')
      return outcome
    },
  })
  if (isHistory(job.run) && tasks.length > 0 && tasks.length === budget)
    context.log.info(
      { rooftop: job.rooftop.uid, stream: job.stream.name },
      'the budget of the backfill is spent: run it again for the rest',
    )
  context.crashPoint('committed')
  return result
}

/** An answer that cannot be stored. */
function rejected(answer: Answer, issues: readonly Issue[]): Answer {
  if (answer.kind === 'answered') return { ...answer, kind: 'rejected', issues }
  if (answer.kind === 'rejected') return { ...answer, issues, text: '' }
  return { ...answer, reason: issues.map(({ message }) => message).join('; ') }
}

/** Answers about evaluations that are still the rooftop's: another run may have handed one over meanwhile. The lock keeps
 *  them until the commit. */
async function stillOurs(
  { client }: Tx,
  { rooftop }: Job,
  answers: readonly Answer[],
): Promise<readonly Answer[]> {
  const { rows } = await client.query<{ eval_id: number }>(
    `select eval_id from core.evaluation where rooftop_id = $1 and eval_id = any($2::bigint[])
     order by eval_id for key share`,
    [rooftop.id, answers.map(({ task }) => task.evalId)],
  )
  const ours = new Set(rows.map(({ eval_id }) => eval_id))
  return answers.filter(({ task }) => ours.has(task.evalId))
}

/** Nothing is asked about an evaluation that has gone: what is in quarantine for it can never be read again. */
async function releaseGone({ client }: Tx, { rooftop, stream }: Job): Promise<void> {
  await client.query(
    `update ops.quarantine as aside set resolved_at = now()
     where rooftop_id = $1 and stream = $2 and resolved_at is null and not exists (
       select from core.evaluation as known where known.rooftop_id = aside.rooftop_id and known.gone_at is null
         and known.eval_id = case when aside.natural_key ~ '^[0-9]{1,18}(/|$)' then split_part(aside.natural_key, '/', 1)::bigint end)`,
    [rooftop.id, stream.name],
  )
}

/** `hydrated` of the run's ledger counts the evaluations that were asked about. */
async function budgetLeft({ context, run, stream, rooftop }: Job): Promise<number> {
  const row = await context.db
    .selectFrom('ops.run_stream')
    .select('hydrated')
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  return Math.max(0, budgetOf(stream, run, context.config) - (row?.hydrated ?? 0))
}

/** What a run may ask for one rooftop. */
export function budgetOf(stream: EnrichmentStream, run: Run, config: Config): number {
  return (isHistory(run) ? stream.historyBudget?.(config) : stream.budget(config)) ?? 0
}

/** A job may bring in fresh windows by the same mode, in the foreground: that asks for what is due. */
function isHistory({ mode, lane }: Run): boolean {
  return mode === 'backfill' && lane === 'background'
}

/** The span that a backfill asks for; null: the run asks for what is due. */
export function historyOf(run: Run): DueQuery['history'] {
  if (!isHistory(run)) return null
  return { from: fromUnixSeconds(run.from), until: fromUnixSeconds(run.until ?? run.sourceStart) }
}

async function dueTasks(job: Job, budget: number, now: Date): Promise<EnrichmentTask[]> {
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

/** Only a run that asks for all that is due can tell what it did not need to ask. */
async function savedCalls({ db }: Tx, { context, run, stream, rooftop }: Job): Promise<number> {
  if (run.mode !== 'sync' || !stream.serves(rooftop)) return 0
  return await stream.savedCalls(db, rooftop, fromUnixSeconds(run.sourceStart), context.config)
}

async function askUnlessParked(job: Job, tasks: readonly EnrichmentTask[]): Promise<AskResult> {
  if (tasks.length === 0) return { answers: [], ending: null }
  const parked = await parkedUntil(job.context.db, job, job.context.appraisal.clock.now())
  if (parked === null) return await askAll(job, tasks)
  return { answers: [], ending: { verdict: 'park', reason: parked.reason } }
}

/** How the slice leaves the stream: ended with a reason, more to do now, an answer to wait for, or done. */
function whatNext(
  { answers, ending }: AskResult,
  isMore: boolean,
  pollAt: Date | null,
  now: Date,
): Omit<SliceResult, 'counts'> {
  const [failed] = answers.flatMap((answer) => (answer.kind === 'failed' ? [answer.reason] : []))
  const error = ending?.reason ?? failed
  const why = error === undefined ? {} : { error }
  if (ending?.verdict === 'skip') return { more: false }
  if (ending !== null) return { more: false, ...why, ...statusOf(ending) }
  if (isMore || pollAt === null) return { more: isMore, ...why }
  const seconds = Math.ceil((pollAt.getTime() - now.getTime()) / 1000)
  return { more: true, delaySeconds: Math.min(60, Math.max(1, seconds)), ...why }
}

function statusOf({ verdict }: StopReason): Pick<SliceResult, 'ended'> {
  if (verdict === 'park') return { ended: 'parked' }
  return verdict === 'abort' ? { ended: 'failed' } : {}
}

/** Observations, payloads, warnings, quarantine and states of a slice. */
async function writeAnswers(
  tx: Tx,
  job: Job,
  answers: readonly Answer[],
  span: AskSpan,
): Promise<Counts> {
  const { stream, rooftop, run } = job
  const answered = answers.filter((answer) => answer.kind === 'answered')
  const rejected = answers.filter((answer) => answer.kind === 'rejected')
  const loaded = await stream.load(
    tx.db,
    rooftop,
    answered.map(({ task: { evalId, ask }, record, at }) => ({ evalId, ask, record, at })),
    run.runId,
    job.context.config.wire.appraisal,
  )
  await keepChanged(tx, job, answered)
  const keys = answered.map(({ task }) => naturalKeyOf(stream, task))
  const warnings = loaded.flatMap((each, index) =>
    each.warnings.map((warning) => ({ naturalKey: keys[index]!, ...warning })),
  )
  await recordWarnings(tx, { stream: stream.name, runId: run.runId }, rooftop, keys, warnings)
  const quarantine = { stream: stream.name, rooftopId: rooftop.id, runId: run.runId }
  await quarantineRecords(
    tx,
    quarantine,
    rejected.map(({ task, issues, text }) => ({
      naturalKey: naturalKeyOf(stream, task),
      issues,
      payload: text,
      window: null,
    })),
  )
  const settled = answers.filter(({ kind }) => kind === 'answered' || kind === 'skipped')
  const settledKeys = settled.flatMap(({ task, kind }) => {
    const told = kind === 'answered' ? stream.alsoAnswers?.[task.ask] : undefined
    const asks = told === undefined ? [task.ask] : [task.ask, told]
    return asks.map((ask) => naturalKeyOf(stream, { evalId: task.evalId, ask }))
  })
  await release(tx, quarantine, settledKeys)
  const failed = answers.filter(({ kind }) => kind === 'failed')
  await countAttempts(
    tx,
    quarantine,
    failed.map(({ task }) => naturalKeyOf(stream, task)),
  )
  await recordAnswers(tx, job, answers, span)
  return countAnswers(job, answers, new Map(answered.map((one, index) => [one, loaded[index]!])))
}

async function keepChanged(tx: Tx, job: Job, answered: readonly Answered[]): Promise<void> {
  const { context, stream, rooftop, run } = job
  const { appraisal: wire } = context.config.wire
  for (const [ask, own] of Map.groupBy(answered, ({ task }) => task.ask)) {
    const payloads = own.map(({ task, body, text, fetchedAt }) => ({
      naturalKey: String(task.evalId),
      text,
      fetchedAt,
      hash: contentHash(stream.contentOf(body, ask, wire)),
    }))
    const keys = payloads.map(({ naturalKey }) => naturalKey)
    const stored = await newestHashes(tx.db, ask, rooftop, keys)
    const changed = payloads.filter(({ naturalKey, hash }) => !stored.get(naturalKey)?.equals(hash))
    await savePayloads(tx, ask, rooftop, run.runId, changed)
  }
}

/** An evaluation counts once, when it is asked about first; asking again for an answer counts as a request alone, unless it
 *  brought something new. */
function countAnswers(
  { traffic }: Job,
  answers: readonly Answer[],
  loaded: ReadonlyMap<Answer, Loaded>,
): Counts {
  const first = answers.filter(({ task }) => !task.again)
  const of = (kind: Answer['kind']) => answers.filter((answer) => answer.kind === kind).length
  const count = (among: readonly Answer[], outcome: LoadOutcome) =>
    among.filter((answer) => loaded.get(answer)?.outcome === outcome).length
  return addCounts(zeroCounts, {
    listed: first.length,
    hydrated: first.length,
    inserted: count(answers, 'inserted'),
    updated: count(answers, 'updated'),
    unchanged: count(first, 'unchanged'),
    quarantined: of('rejected'),
    vanished: of('skipped'),
    requests: traffic.requests,
    retries: traffic.retries,
  })
}
