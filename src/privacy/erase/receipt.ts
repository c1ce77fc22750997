import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import { redactText } from '../screen/redact.ts'
import { plainTerms, type SearchTerm, type SearchTerms } from '../screen/search-terms.ts'
import type { Counts, EvaluationKey } from './erasure-work.ts'
import { maskSubject, type Subject } from './subject.ts'

/** The result of an erasure, without personal data. */
export interface Receipt {
  /** null with a dry run: nothing was recorded. */
  readonly erasureId: number | null
  readonly subject: { readonly kind: 'email' | 'phone' | 'eval'; readonly masked: string }
  readonly reason: string | null
  readonly requestedBy: string
  /** By the database's clock. */
  readonly at: string
  /** The earlier erasure that put the contact on the suppression list; null: this is the first. */
  readonly erasedBefore: number | null
  /** Evaluations and other rows that have the requested contact, or name the customer; 0: not found. */
  readonly matched: number
  /** Evaluations, former ones included, by person; more than one person if several share the e-mail or phone. */
  readonly people: readonly (readonly EvaluationName[])[]
  /** The customer's evaluations. */
  readonly evaluations: readonly EvaluationName[]
  /** Evaluations of other customers that mentioned this one, or once named them as the customer. */
  readonly mentionedIn: readonly EvaluationName[]
  /** Rows that were changed or deleted, by table. */
  readonly tables: Counts
  /** PDFs of the archive to remove. */
  readonly files: number
  /** New entries of the suppression list. */
  readonly suppressed: { readonly evaluations: number; readonly contacts: number }
  /** Evaluations of other customers with the same name, phone or address: not changed. */
  readonly alsoCarriedBy: readonly EvaluationName[]
  readonly rescan: {
    readonly tables: number
    /** Rows that still name the customer, by table; should be empty. */
    readonly left: Counts
    /** Rows of other customers, salespeople and rooftops with the same name, by table. */
    readonly others: Counts
  }
}

/** An evaluation as a receipt names it. */
export interface EvaluationName {
  /** Uid of its rooftop; the dealer group's code if it has none. */
  readonly rooftop: string
  readonly evalId: number
}

/** Whether the search after the erasure found nothing of the customer. */
export function isClean({ rescan }: Receipt): boolean {
  return Object.keys(rescan.left).length === 0
}

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

/** Inserts the record of an erasure; `writeReceipt` adds the receipt at the end. Returns what describes the request. */
export async function insertErasure(
  db: Db,
  request: ErasureRequest,
  terms: readonly SearchTerm[],
): Promise<
  Pick<Receipt, 'subject' | 'reason' | 'requestedBy' | 'at'> & { readonly erasureId: number }
> {
  const { subject, requestedBy } = request
  const [masked, reason] = [maskSubject(subject), receiptReason(request, terms)]
  const { rows } = await sql<{ id: number; at: Date }>`
    insert into pii.erasure (subject_kind, subject_masked, reason, requested_by, receipt)
    values (${subject.kind}, ${masked}, ${reason}, ${requestedBy.slice(0, 120)}, '{}')
    returning erasure_id as id, now() as at`.execute(db)
  const { id: erasureId, at } = rows[0]!
  const about = { kind: subject.kind, masked }
  return { erasureId, subject: about, reason, requestedBy, at: at.toISOString() }
}

/** The reason without the customer's data and without any e-mail or phone number: a receipt has no personal data. */
function receiptReason({ reason }: ErasureRequest, terms: readonly SearchTerm[]): string | null {
  if (reason === null) return null
  const named = plainTerms(terms)
  const contacts: SearchTerms = {
    has: (kind, key) => kind === 'email' || kind === 'phone' || named.has(kind, key),
    phraseWords: named.phraseWords,
  }
  return redactText(reason, contacts).slice(0, 400)
}

/** The evaluations with their rooftops, sorted. */
export async function evaluationNames(
  db: Db,
  keys: readonly EvaluationKey[],
): Promise<EvaluationName[]> {
  const { rows } = await sql<EvaluationName>`
    select coalesce(rooftop_uid, group_code) as rooftop, asked.eval_id as "evalId"
    from unnest(${keys.map(({ groupId }) => groupId)}::int[], ${keys.map(({ evalId }) => evalId)}::bigint[])
      as asked (group_id, eval_id)
    join core.rooftop_group using (group_id)
    left join core.evaluation as known on known.group_id = asked.group_id and known.eval_id = asked.eval_id
    left join core.rooftop using (rooftop_id)
    order by 1, 2`.execute(db)
  return rows
}

/** Stores the receipt with the record of its erasure. */
export async function writeReceipt(db: Db, receipt: Receipt): Promise<void> {
  await sql`
    update pii.erasure set receipt = ${JSON.stringify(receipt)}::jsonb
    where erasure_id = ${receipt.erasureId}`.execute(db)
}
