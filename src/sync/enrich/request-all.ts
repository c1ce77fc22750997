import pLimit from 'p-limit'
import { freeSlotWhileWaiting } from '../../api/sources/fair-read-queue.ts'
import type { WhileWaiting } from '../../api/sources/http.ts'
import { findRefusedKey, isHopeless } from '../../api/sources/status-rules.ts'
import { errorText, SyncError } from '../../errors.ts'
import type { Issue } from '../../values/record.ts'
import { assertDepth, assertSize, errorIssues, isDataFault } from '../records/record-fault.ts'
import { pickSources } from '../run/sources.ts'
import { callOptions, type SliceJob } from '../run/stream.ts'
import type { Enrichment, EnrichmentTask } from './enrichment.ts'

/** The result of asking about one evaluation. */
export type Answer =
  | (Payload & { readonly kind: 'answered'; readonly record: unknown })
  | (Payload & { readonly kind: 'rejected'; readonly issues: readonly Issue[] })
  /** skipped: the source does not know the evaluation, or has no data about it. failed: it did not answer. */
  | {
      readonly kind: 'skipped' | 'failed'
      readonly task: EnrichmentTask
      readonly reason: string
      /** The key whose refusal the reason is, or may be. */
      readonly refusedKey?: string | null
    }

interface Payload {
  readonly task: EnrichmentTask
  readonly body: unknown
  readonly text: string
  /** Our clock. */
  readonly fetchedAt: Date
  /** The source's clock. */
  readonly at: Date
}

/** Why the slice stops asking: the key's quota is used up (park), the key is refused (abort), its region has no such data (skip),
 *  or the source is down (retry). */
export interface StopReason {
  readonly errorAction: 'park' | 'abort' | 'retry' | 'skip'
  readonly reason: string
  /** The key whose refusal that is, or may be. */
  readonly refusedKey?: string | null
}

/** All answers of a slice, and why it stopped asking before the end, if it did. */
export interface RequestResult {
  readonly answers: readonly Answer[]
  readonly stopReason: StopReason | null
}

/** After this many refusals without an answer, the key's region has no such data. */
const refusalsAllowed = 3
/** After this many evaluations without an answer, the fault is the source's, not the evaluations'. */
const failuresAllowed = 8

/**
 * Asks about the evaluations concurrently; the key's limiter sets how many at once. Once there is a reason to stop, nothing more
 * is asked. Answers received before that count.
 */
export async function requestAll(
  job: SliceJob<Enrichment>,
  tasks: readonly EnrichmentTask[],
): Promise<RequestResult> {
  const { concurrency } = job.context.config.http
  let everAnswered: boolean | undefined
  const limit = pLimit(concurrency)
  const whileWaiting = freeSlotWhileWaiting(limit)
  const answers: Answer[] = []
  let failures = 0
  let forbidden = 0
  let stopReason: StopReason | null = null
  const requestTask = async (task: EnrichmentTask): Promise<void> => {
    if (stopReason !== null) return
    try {
      answers.push(await requestOne(job, task, whileWaiting))
    } catch (error) {
      if (!(error instanceof SyncError)) {
        if (!isDataFault(error)) throw error
        answers.push({ kind: 'failed', task, reason: errorText(error) })
        return
      }
      const { errorAction, meaning, message: reason } = error
      const refusedKey = findRefusedKey(error)
      const isRefused =
        meaning === 'keyOrRecordRefused' && !answers.some(({ kind }) => kind === 'answered')
      // If the source has answered for this rooftop before, a 403 is not about the region.
      if (isRefused) everAnswered ??= await hasEverAnswered(job)
      const isRegional = isRefused && everAnswered === false
      if (isUnreadable(error)) answers.push(unreadable(task, error))
      else if (errorAction === 'skip' || isRegional) {
        answers.push({ kind: 'skipped', task, reason })
        if (isRegional && ++forbidden >= refusalsAllowed)
          stopReason ??= { errorAction: 'skip', reason }
      } else if (errorAction === 'park') stopReason ??= { errorAction, reason }
      else {
        // Recorded even when it ends the stream, so that tomorrow it comes after the others and blocks none of them.
        answers.push({ kind: 'failed', task, reason, refusedKey })
        if (++failures >= failuresAllowed || isHopeless(error))
          stopReason ??= {
            errorAction: isSourceUp(answers) ? 'retry' : errorAction,
            reason,
            refusedKey,
          }
      }
    }
  }
  const settled = await Promise.allSettled(tasks.map((task) => limit(requestTask, task)))
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason
  return { answers, stopReason }
}

/** Whether the source answered, but with a body that cannot be read. Such an answer says nothing about the evaluation. */
function isUnreadable({ errorAction, status }: SyncError): boolean {
  return errorAction === 'skip' && status !== undefined && status >= 200 && status < 300
}

/** An unreadable answer as a rejected one, so that it goes to quarantine. */
function unreadable(task: EnrichmentTask, { message }: SyncError): Answer {
  const now = new Date()
  const issues = [{ path: '$', message }]
  return { kind: 'rejected', task, body: null, text: '', fetchedAt: now, at: now, issues }
}

/** Whether the source has answered for some evaluation. If so, its refusals concern the other evaluations, not the source. */
function isSourceUp(answers: readonly Answer[]): boolean {
  return answers.some(({ kind }) => kind === 'answered' || kind === 'skipped')
}

/** Whether the source has ever answered for the rooftop. */
async function hasEverAnswered({
  context,
  stream,
  rooftop,
}: SliceJob<Enrichment>): Promise<boolean> {
  const row = await context.db
    .selectFrom('ops.enrichment_state')
    .select('eval_id')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('outcome', '=', 'answered')
    .where('last_asked_at', '>', new Date(0))
    .orderBy('eval_id')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

async function requestOne(
  job: SliceJob<Enrichment>,
  task: EnrichmentTask,
  whileWaiting: WhileWaiting,
): Promise<Answer> {
  const { context, stream, rooftop } = job
  const options = { ...callOptions(job), whileWaiting }
  const { body, text, at } = await stream.read(
    pickSources(context),
    rooftop,
    task,
    context.config,
    options,
  )
  const answeredAt = at ?? context.appraisal.clock.now()
  return readAnswer(job, { task, body, text, fetchedAt: new Date(), at: answeredAt })
}

/** Normalises an answer, or rejects it when it does not fit the contract. */
export function readAnswer(
  { context, stream, rooftop }: Pick<SliceJob<Enrichment>, 'context' | 'stream' | 'rooftop'>,
  payload: Payload,
): Answer {
  const { task, body } = payload
  try {
    assertSize(payload.text)
    assertDepth(body)
    const record = stream.normalise(body, task, rooftop, context.config.wire.appraisal)
    return { ...payload, kind: 'answered', record }
  } catch (error) {
    return { ...payload, kind: 'rejected', issues: errorIssues(error) }
  }
}
