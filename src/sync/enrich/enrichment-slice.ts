import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { contentHash } from '../../values/content-hash.ts'
import type { Issue, Loaded, LoadOutcome } from '../../values/record.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { refreshSums } from '../../warehouse/db/sums.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { recordWarnings } from '../records/data-quality.ts'
import { newestHashes, savePayloads } from '../records/load-records.ts'
import { screenAnswers } from '../records/privacy-gate.ts'
import { countAttempts, quarantineRecords, release } from '../records/quarantine.ts'
import { commitSlice, readRunStream } from '../run/commit-slice.ts'
import { untriedKeys } from '../run/retry-slice.ts'
import { type Counts, isHistory, type Run } from '../run/run-ledger.ts'
import type { CallPlan, PlanScope, SliceJob, SliceResult } from '../run/stream.ts'
import { type DueQuery, type Enrichment, type EnrichmentTask, taskKey } from './enrichment.ts'
import {
  nextPollAt,
  park,
  parkedUntil,
  type RequestSpan,
  recordAnswers,
} from './enrichment-state.ts'
import { type Answer, type RequestResult, requestAll, type StopReason } from './request-all.ts'

/** Evaluations that a slice asks about, at most. */
const tasksPerSlice = 200

type Job = SliceJob<Enrichment>
type Answered = Extract<Answer, { kind: 'answered' }>

/**
 * One slice of an enrichment: due evaluations → concurrent requests → one transaction with observations, payloads, states and
 * the fenced completion of the work. Evaluations that were not asked about, or whose answers a crash lost, stay due.
 */
export async function requestDue(job: Job): Promise<SliceResult> {
  const { context } = job
  const began = context.appraisal.clock.now()
  const budget = await budgetLeft(job)
  const tasks = await dueTasks(job, budget, began)
  const { answers, stopReason } = await requestUnlessParked(job, tasks)
  // Of some refusals only the other answers show whether the key is meant.
  if (answers.some((one) => one.kind === 'failed' && one.refusedKey != null))
    await context.storeKeyAnswers()
  const now = context.appraisal.clock.now()
  const store = async (tx: Tx, stored: readonly Answer[]) => {
    const screened = await screenAnswers(tx, job, stored)
    const owned = await stillOwned(tx, job, screened)
    return { screened, counts: await writeAnswers(tx, job, owned, { began, now }) }
  }
  const result = await commitSlice(job, {
    items: answers,
    store,
    reject: rejected,
    write: async (tx, stored) => {
      const { screened, counts } = await store(tx, stored)
      await releaseGone(tx, job)
      if (stopReason?.errorAction === 'park') await park(tx, job, now, stopReason.reason)
      const asked = tasks.filter(({ again }) => !again).length
      // An answer may make other evaluations due. An evaluation that was asked about is not due again in this run.
      const isMore = tasks.length > 0 && (asked === 0 || budget > asked)
      const pollAt = stopReason === null && !isMore ? await nextPollAt(tx, job, began) : null
      const next = whatNext({ answers: screened, stopReason }, isMore, pollAt, now)
      const saved = next.more || stopReason !== null ? 0 : await savedCalls(tx, job)
      return { counts: { ...counts, saved }, ...next }
    },
  })
  if (isHistory(job.run) && tasks.length > 0 && tasks.length === budget)
    context.log.info(
      { rooftop: job.rooftop.uid, stream: job.stream.name },
      'backfill budget used up; run the backfill again for the rest',
    )
  return result
}

/** The questions that are due about the evaluations that are known now; those that the run itself brings in come on top. */
export async function planRequests(
  enrichment: Enrichment,
  { db, config, run, rooftop, siblings }: PlanScope,
): Promise<CallPlan> {
  if (db === null || rooftop === null) return { lists: 0, reads: null }
  if (!enrichment.serves(rooftop)) return { lists: 0, reads: 0 }
  const listed = sql`select from ops.window_certificate where rooftop_id = ${rooftop.id} limit 1`
  if ((await listed.execute(db)).rows.length === 0) return { lists: 0, reads: null }
  const now = fromUnixSeconds(run.sourceStart)
  const ask: DueQuery = {
    ...{ now, runStart: now, limit: 1_000_000, budget: streamBudget(enrichment, run, config) },
    ...{ only: null, evalId: null, siblings, scope: 'all', history: runHistory(run) },
  }
  return { lists: 0, reads: (await enrichment.due(db, rooftop, ask, config)).length }
}

/** An answer that cannot be stored. */
function rejected(answer: Answer, issues: readonly Issue[]): Answer {
  if (answer.kind === 'answered') return { ...answer, kind: 'rejected', issues }
  if (answer.kind === 'rejected') return { ...answer, issues, text: '' }
  return { ...answer, reason: issues.map(({ message }) => message).join('; ') }
}

/** Answers about evaluations that the rooftop still owns; another run may have moved some. A row lock holds this until the commit. */
async function stillOwned(
  { db }: Tx,
  { rooftop }: Job,
  answers: readonly Answer[],
): Promise<readonly Answer[]> {
  const { rows } = await sql<{ eval_id: number }>`
    select eval_id from core.evaluation
    where rooftop_id = ${rooftop.id} and eval_id = any(${answers.map(({ task }) => task.evalId)}::bigint[])
    order by eval_id for share`.execute(db)
  const owned = new Set(rows.map(({ eval_id }) => eval_id))
  return answers.filter(({ task }) => owned.has(task.evalId))
}

/** Closes quarantine entries of evaluations that are gone, since nothing is asked about those any more. */
async function releaseGone({ db }: Tx, { rooftop, stream }: Job): Promise<void> {
  await sql`
    update ops.quarantine as entry set resolved_at = now()
    where rooftop_id = ${rooftop.id} and stream = ${stream.name} and resolved_at is null and not exists (
      select from core.evaluation as known where known.rooftop_id = entry.rooftop_id and known.gone_at is null
        and known.eval_id = case when entry.natural_key ~ '^[0-9]{1,18}(/|$)' then split_part(entry.natural_key, '/', 1)::bigint end)`.execute(
    db,
  )
}

/** Calls that were not needed. Only a sync counts them, since only it asks for everything that is due. */
async function savedCalls({ db }: Tx, { context, run, stream, rooftop }: Job): Promise<number> {
  if (run.mode !== 'sync' || !stream.serves(rooftop)) return 0
  const runStart = fromUnixSeconds(run.sourceStart)
  return (await stream.savedCalls?.(db, rooftop, runStart, context.config)) ?? 0
}

/** Asks about the tasks, unless the key's quota is used up. */
async function requestUnlessParked(
  job: Job,
  tasks: readonly EnrichmentTask[],
): Promise<RequestResult> {
  if (tasks.length === 0) return { answers: [], stopReason: null }
  const parked = await parkedUntil(job.context.db, job, job.context.appraisal.clock.now())
  if (parked === null) return await requestAll(job, tasks)
  return { answers: [], stopReason: { errorAction: 'park', reason: parked.reason } }
}

/** What follows the slice: the stream ends with a reason, more is due now, an answer is awaited, or the stream is done. */
function whatNext(
  { answers, stopReason }: RequestResult,
  isMore: boolean,
  pollAt: Date | null,
  now: Date,
): Omit<SliceResult, 'counts'> {
  const [failed] = answers.flatMap((answer) => (answer.kind === 'failed' ? [answer] : []))
  // What stopped the slice may quote an answer: the text is that of the answer that is stored.
  const cause = stopReason?.errorAction === 'park' ? stopReason : (failed ?? stopReason)
  const why = cause === null ? {} : { error: cause.reason, refusedKey: cause.refusedKey ?? null }
  if (stopReason?.errorAction === 'skip') return { more: false }
  if (stopReason !== null) return { more: false, ...why, ...sliceEnd(stopReason) }
  if (isMore || pollAt === null) return { more: isMore, ...why }
  const seconds = Math.ceil((pollAt.getTime() - now.getTime()) / 1000)
  return { more: true, delaySeconds: Math.min(60, Math.max(1, seconds)), ...why }
}

function sliceEnd({ errorAction }: StopReason): Pick<SliceResult, 'ended'> {
  if (errorAction === 'park') return { ended: 'parked' }
  return errorAction === 'abort' ? { ended: 'failed' } : {}
}

/** Writes observations, payloads, warnings, quarantine and states of a slice. */
async function writeAnswers(
  tx: Tx,
  job: Job,
  answers: readonly Answer[],
  span: RequestSpan,
): Promise<Partial<Counts>> {
  const { stream, rooftop, run } = job
  const answered = answers.filter((answer) => answer.kind === 'answered')
  const rejected = answers.filter((answer) => answer.kind === 'rejected')
  const loaded = await stream.load(
    tx,
    rooftop,
    answered.map(({ task: { evalId, ask }, record, at }) => ({ evalId, ask, record, at })),
    run.runId,
    job.context.config.wire.appraisal,
  )
  await saveChangedPayloads(tx, job, answered)
  const keyOf = ({ task }: Answer) => taskKey(stream, task)
  const keys = answered.map(keyOf)
  const warnings = loaded.flatMap((each, index) =>
    each.warnings.map((warning) => ({ naturalKey: keys[index]!, ...warning })),
  )
  await recordWarnings(tx, { stream: stream.name, runId: run.runId }, rooftop, keys, warnings)
  const quarantine = { stream: stream.name, rooftopId: rooftop.id, runId: run.runId }
  await quarantineRecords(
    tx,
    quarantine,
    rejected.map((answer) => ({
      ...{ naturalKey: keyOf(answer), issues: answer.issues, payload: answer.text, window: null },
    })),
  )
  const closed = answers.filter(({ kind }) => kind === 'answered' || kind === 'skipped')
  const closedKeys = closed.flatMap(({ task, kind }) => {
    const included = kind === 'answered' ? stream.alsoAnswers?.[task.ask] : undefined
    const asks = included === undefined ? [task.ask] : [task.ask, included]
    return asks.map((ask) => taskKey(stream, { evalId: task.evalId, ask }))
  })
  await release(tx, quarantine, closedKeys)
  const failed = answers.filter(({ kind }) => kind === 'failed')
  await countAttempts(tx, quarantine, failed.map(keyOf))
  const changedStates = await recordAnswers(tx, job, answers, span)
  const loadedOf = new Map<Answer, Loaded>(answered.map((one, index) => [one, loaded[index]!]))
  // An answer that confirms what is known changes no sum, and locks none.
  const changed = answers.filter((answer) => {
    const outcome = loadedOf.get(answer)?.outcome
    return outcome === undefined ? changedStates.has(answer.task.evalId) : outcome !== 'unchanged'
  })
  const ids = changed.map(({ task }) => task.evalId)
  if (stream.isSummed) await refreshSums(tx.db, [rooftop.groupId], ids)
  return countAnswers(answers, loadedOf)
}

/** Stores payloads whose relevant content differs from the newest stored one. */
async function saveChangedPayloads(tx: Tx, job: Job, answered: readonly Answered[]): Promise<void> {
  const { context, stream, rooftop, run } = job
  const { appraisal: wire } = context.config.wire
  for (const [ask, ofOperation] of Map.groupBy(answered, ({ task }) => task.ask)) {
    const payloads = ofOperation.map(({ task, body, text, fetchedAt }) => ({
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

/** Counts an evaluation once, when it is first asked about. A repeated poll counts as a request only, unless it brought
 *  something new. */
function countAnswers(
  answers: readonly Answer[],
  loaded: ReadonlyMap<Answer, Loaded>,
): Partial<Counts> {
  const first = answers.filter(({ task }) => !task.again)
  const of = (kind: Answer['kind']) => answers.filter((answer) => answer.kind === kind).length
  const count = (among: readonly Answer[], outcome: LoadOutcome) =>
    among.filter((answer) => loaded.get(answer)?.outcome === outcome).length
  return {
    listed: first.length,
    hydrated: first.length,
    inserted: count(answers, 'inserted'),
    updated: count(answers, 'updated'),
    unchanged: count(first, 'unchanged'),
    quarantined: of('rejected'),
    vanished: of('skipped'),
  }
}

/** How many evaluations the run may still ask about; `hydrated` in its ledger counts those it has asked about. */
async function budgetLeft(job: Job): Promise<number> {
  const { context, run, stream } = job
  const { hydrated = 0 } = (await readRunStream(context.db, job)) ?? {}
  return Math.max(0, streamBudget(stream, run, context.config) - hydrated)
}

/** How many evaluations a run may ask about for one rooftop. */
function streamBudget(stream: Enrichment, run: Run, config: Config): number {
  return (isHistory(run) ? stream.historyBudget?.(config) : stream.budget(config)) ?? 0
}

/** The span of a backfill of history. null: the run asks for what is due. */
function runHistory(run: Run): DueQuery['history'] {
  if (!isHistory(run)) return null
  return { from: fromUnixSeconds(run.from), until: fromUnixSeconds(run.until ?? run.sourceStart) }
}

/** The evaluations that the run asks about next. */
async function dueTasks(job: Job, budget: number, now: Date): Promise<EnrichmentTask[]> {
  const { context, run, stream, rooftop } = job
  if (!stream.serves(rooftop)) return []
  const ask = {
    now,
    runStart: fromUnixSeconds(run.sourceStart),
    limit: tasksPerSlice,
    budget,
    only: run.mode === 'retry' ? await untriedKeys(job) : null,
    evalId: null,
    scope: run.mode === 'links' ? 'links' : 'all',
    history: runHistory(run),
    siblings: await rooftopsThatAnswer(job),
  } as const
  return await stream.due(context.db, rooftop, ask, context.config)
}

/** Rooftops of the group that this run asks for as well, and that answered last time. A rooftop whose key fails does not stop the
 *  others. */
async function rooftopsThatAnswer({
  context,
  run,
  stream,
  rooftop,
  siblings,
}: Job): Promise<number[]> {
  const served = siblings.filter((one) => stream.serves(one)).map(({ id }) => id)
  const { rows } = await sql<{ rooftop_id: number }>`
    select rooftop_id from ops.run_stream as part
    where run_id = ${run.runId} and stream = ${stream.name} and rooftop_id = any(${served}::int[]) and status not in ('failed', 'parked')
      and coalesce((
        select last.status from ops.run_stream as last
        where last.rooftop_id = part.rooftop_id and last.stream = ${stream.name} and last.run_id < ${run.runId} and last.finished_at is not null
          -- A run that found the source down asked nothing: it says nothing about the rooftop.
          and (last.status <> 'failed' or last.requests > 0)
        order by last.run_id desc limit 1), 'ok') not in ('failed', 'parked')`.execute(context.db)
  return [...new Set([rooftop.id, ...rows.map(({ rooftop_id }) => rooftop_id)])]
}
