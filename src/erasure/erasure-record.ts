import type pg from 'pg'
import { type SearchTerm, type SearchTerms, plainTerms } from './search-terms.ts'
import type { EvaluationName, Receipt } from './receipt.ts'
import { redactText } from './redact.ts'
import { maskOf, type Subject } from './subject.ts'
import type { EvaluationKey } from './erasure-work.ts'

/** Who asks for an erasure, and why. */
export interface ErasureRequest {
  readonly subject: Subject
  readonly reason: string | null
  /** user@host */
  readonly requestedBy: string
  /** Runs everything and rolls it back; the receipt shows what would change. */
  readonly dryRun: boolean
  /** Erases all people with the e-mail or phone; otherwise several people are a UsageError. */
  readonly allPeople?: boolean
}

/** Inserts the record of an erasure; `writeReceipt` adds the receipt at the end. */
export async function insertErasure(
  client: pg.ClientBase,
  request: ErasureRequest,
  terms: readonly SearchTerm[],
): Promise<number> {
  const { subject, requestedBy } = request
  const { rows } = await client.query<{ erasure_id: number }>(
    `insert into pii.erasure (subject_kind, subject_masked, reason, requested_by, receipt)
     values ($1, $2, $3, $4, '{}') returning erasure_id`,
    [subject.kind, maskOf(subject), reasonOf(request, terms), requestedBy.slice(0, 120)],
  )
  return rows[0]!.erasure_id
}

/** The reason without the customer's data and without any e-mail or phone number: a receipt has no personal data. */
function reasonOf({ reason }: ErasureRequest, terms: readonly SearchTerm[]): string | null {
  if (reason === null) return null
  const named = plainTerms(terms)
  const contacts: SearchTerms = {
    has: (kind, key) => kind === 'email' || kind === 'phone' || named.has(kind, key),
    phraseWords: named.phraseWords,
  }
  return redactText(reason, contacts).slice(0, 400)
}

/** The part of a receipt that describes the request. */
export async function receiptHead(
  client: pg.ClientBase,
  request: ErasureRequest,
  terms: readonly SearchTerm[],
): Promise<Pick<Receipt, 'subject' | 'reason' | 'requestedBy' | 'at'>> {
  const { rows } = await client.query<{ at: Date }>('select now() as at')
  return {
    subject: { kind: request.subject.kind, masked: maskOf(request.subject) },
    reason: reasonOf(request, terms),
    requestedBy: request.requestedBy,
    at: rows[0]!.at.toISOString(),
  }
}

/** The evaluations with their rooftops, sorted. */
export async function evaluationNames(
  client: pg.ClientBase,
  keys: readonly EvaluationKey[],
): Promise<EvaluationName[]> {
  const { rows } = await client.query<EvaluationName>(
    `select coalesce(rooftop_uid, group_code) as rooftop, asked.eval_id as "evalId"
     from unnest($1::int[], $2::bigint[]) as asked (group_id, eval_id)
     join core.rooftop_group using (group_id)
     left join core.evaluation as known on known.group_id = asked.group_id and known.eval_id = asked.eval_id
     left join core.rooftop using (rooftop_id)
     order by 1, 2`,
    [keys.map(({ groupId }) => groupId), keys.map(({ evalId }) => evalId)],
  )
  return rows
}

/** Stores the receipt with the record of its erasure. */
export async function writeReceipt(
  client: Pick<pg.ClientBase, 'query'>,
  receipt: Receipt,
): Promise<void> {
  await client.query('update pii.erasure set receipt = $2::jsonb where erasure_id = $1', [
    receipt.erasureId,
    JSON.stringify(receipt),
  ])
}
