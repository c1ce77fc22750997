import pLimit from 'p-limit'
import { messageOf, SyncError } from '../errors.ts'
import type { WhileWaiting } from '../sources/http-request.ts'
import { freeSlotWhileWaiting } from '../sources/fair-read-queue.ts'
import type { EnrichmentStream, EnrichmentTask } from '../streams/enrichment-stream.ts'
import type { Issue } from '../streams/record.ts'
import { hasAnswered } from './askable.ts'
import { assertDepth, assertSize, isDataFault, issuesOf } from './record-fault.ts'
import { type SliceJob, sourcesOf } from './slice.ts'

/** What came of asking about one evaluation. */
export type Answer =
  | (Payload & { readonly kind: 'answered'; readonly record: unknown })
  | (Payload & { readonly kind: 'rejected'; readonly issues: readonly Issue[] })
  /** The source does not know the evaluation, or has nothing to say of it; `failed`: it did not answer. */
  | {
      readonly kind: 'skipped' | 'failed'
      readonly task: EnrichmentTask
      readonly reason: string
    }

interface Payload {
  readonly task: EnrichmentTask
  readonly body: unknown
  readonly text: string
  /** Our clock. */
  readonly fetchedAt: Date
  /** The source's. */
  readonly at: Date
}

/** Why nothing more is to be asked: the key's quota is used up, the key is refused, its region has no such thing (skip), or
 *  the source has gone. */
export interface StopReason {
  readonly verdict: 'park' | 'abort' | 'retry' | 'skip'
  readonly reason: string
}

export interface AskResult {
  readonly answers: readonly Answer[]
  readonly ending: StopReason | null
}

/** So many refusals and no answer: the key's region has no such thing. */
const refusalsAllowed = 3
/** So many evaluations without an answer are no longer about the evaluations. */
const failuresAllowed = 8

/**
 * Asks about the evaluations side by side; the key's limiter says how many at once. Once the source has said that it will not
 * go on, nothing more is asked; what was answered until then counts.
 */
export async function askAll(
  job: SliceJob<EnrichmentStream>,
  tasks: readonly EnrichmentTask[],
): Promise<AskResult> {
  const { concurrency } = job.context.config.http
  // What was answered before is refused for another reason than its region.
  const wasAnswered = await hasAnswered(job)
  const limit = pLimit(concurrency)
  const whileWaiting = freeSlotWhileWaiting(limit)
  const answers: Answer[] = []
  let failures = 0
  let forbidden = 0
  let ending: StopReason | null = null
  const one = async (task: EnrichmentTask): Promise<void> => {
    if (ending !== null) return
    try {
      answers.push(await askOne(job, task, whileWaiting))
    } catch (error) {
      if (!(error instanceof SyncError)) {
        if (!isDataFault(error)) throw error
        answers.push({ kind: 'failed', task, reason: messageOf(error) })
        return
      }
      const { errorAction: verdict, status, message: reason } = error
      const isRegional =
        status === 403 && job.stream.forbidden === 'skip' && !isAnswered(answers) && !wasAnswered
      if (isUnreadable(error)) answers.push(unreadable(task, error))
      else if (verdict === 'skip' || isRegional) {
        answers.push({ kind: 'skipped', task, reason })
        if (isRegional && ++forbidden >= refusalsAllowed) ending ??= { verdict: 'skip', reason }
      } else if (verdict === 'park') ending ??= { verdict, reason }
      else {
        // Noted even when it ends the stream: tomorrow it stands behind the others, and blocks none of them.
        answers.push({ kind: 'failed', task, reason })
        const isHopeless = verdict === 'abort' && (status === undefined || status === 401)
        if (++failures >= failuresAllowed || isHopeless)
          ending ??= { verdict: isAlive(answers) ? 'retry' : verdict, reason }
      }
    }
  }
  const settled = await Promise.allSettled(tasks.map((task) => limit(one, task)))
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason
  return { answers, ending }
}

/** It answered, and what it answered cannot be read: that says nothing of the evaluation. */
function isUnreadable({ errorAction: verdict, status }: SyncError): boolean {
  return verdict === 'skip' && status !== undefined && status >= 200 && status < 300
}

function unreadable(task: EnrichmentTask, { message }: SyncError): Answer {
  const now = new Date()
  const issues = [{ path: '$', message }]
  return { kind: 'rejected', task, body: null, text: '', fetchedAt: now, at: now, issues }
}

/** Whether the source has answered for some evaluation: then what it refuses is about the others. */
function isAlive(answers: readonly Answer[]): boolean {
  return answers.some(({ kind }) => kind === 'answered' || kind === 'skipped')
}

function isAnswered(answers: readonly Answer[]): boolean {
  return answers.some(({ kind }) => kind === 'answered')
}

async function askOne(
  job: SliceJob<EnrichmentStream>,
  task: EnrichmentTask,
  whileWaiting: WhileWaiting,
): Promise<Answer> {
  const { context, stream, rooftop, traffic } = job
  const options = { signal: context.signal, onAttempt: traffic.onAttempt, whileWaiting }
  const { body, text, at } = await stream.read(
    sourcesOf(context),
    rooftop,
    task,
    context.config,
    options,
  )
  const told = at ?? context.appraisal.clock.now()
  return readAnswer(job, { task, body, text, fetchedAt: new Date(), at: told })
}

/** Normalises an answer; one that does not fit is rejected. */
export function readAnswer(
  { context, stream, rooftop }: Pick<SliceJob<EnrichmentStream>, 'context' | 'stream' | 'rooftop'>,
  payload: Payload,
): Answer {
  const { task, body } = payload
  try {
    assertSize(payload.text)
    assertDepth(body)
    const record = stream.normalise(body, task, rooftop, context.config.wire.appraisal)
    return { ...payload, kind: 'answered', record }
  } catch (error) {
    return { ...payload, kind: 'rejected', issues: issuesOf(error) }
  }
}
