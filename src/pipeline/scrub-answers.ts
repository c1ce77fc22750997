import type { Tx } from '../db/transaction.ts'
import { scrubAnswer } from '../erasure/scrub-payload.ts'
import { withoutWholeTerms } from '../erasure/search-terms.ts'
import { redactJson, redactText } from '../erasure/redact.ts'
import { type Suppressed, suppressedAmong } from '../erasure/suppression.ts'
import type { Issue } from '../streams/record.ts'
import type { Enrichment } from './enrichment.ts'
import { prunedJson } from '../values/json-depth.ts'
import { type Answer, readAnswer } from './ask-source.ts'
import type { SliceJob } from './stream.ts'

type Job = SliceJob<Enrichment>

/** Removes erased customers from answers; the caller holds the lock of `holdErasureLock`. */
export async function scrubAnswers(
  { db }: Tx,
  job: Job,
  answers: readonly Answer[],
): Promise<readonly Answer[]> {
  const ids = answers.map(({ task }) => task.evalId)
  const suppressed = await suppressedAmong(db, job.rooftop.groupId, ids)
  if (suppressed.size === 0) return answers
  return answers.map((answer) => {
    const erased = suppressed.get(answer.task.evalId)
    return erased === undefined ? answer : screened(job, answer, erased)
  })
}

function screened(job: Job, answer: Answer, erased: Suppressed): Answer {
  const terms = withoutWholeTerms(erased.terms)
  if (!('body' in answer)) return { ...answer, reason: redactText(answer.reason, terms) }
  const { task, fetchedAt, at } = answer
  const wire = job.context.config.wire.appraisal
  const body = scrubAnswer(prunedJson(answer.body), task.ask, wire, erased)
  if (answer.kind === 'rejected') {
    // Its issues may quote the body. It stays rejected, as Postgres may have refused it.
    const issues = redactJson(answer.issues, terms) as Issue[]
    const text = body === answer.body || answer.text === '' ? answer.text : JSON.stringify(body)
    return { ...answer, issues, body, text }
  }
  if (body === answer.body) return answer
  return readAnswer(job, { task, fetchedAt, at, body, text: JSON.stringify(body) })
}
