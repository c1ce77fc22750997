import { sql } from 'kysely'
import type pg from 'pg'
import { UsageError } from '../../errors.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { type Db, dbOn } from '../../warehouse/db/transaction.ts'
import { emailKey } from '../screen/email.ts'
import { normaliseText } from '../screen/normalise-text.ts'
import { digitsIn, phoneKey } from '../screen/phone.ts'
import type { SearchTerm } from '../screen/search-terms.ts'
import type { ErasureWork, EvaluationKey } from './erasure-work.ts'
import { type Findings, findCustomer } from './find-customer.ts'
import { findEvaluations } from './persons.ts'
import type { SearchCache } from './search.ts'
import { textTables } from './text-tables.ts'

/** The subject of an erasure. The value is personal data, except an EvalID. */
export type Subject =
  | { readonly kind: 'email' | 'phone'; readonly value: string }
  | { readonly kind: 'eval'; readonly evalId: number; readonly rooftopUid: string | null }

/** The requested contact as a search term; empty for an evaluation. UsageError for an invalid e-mail or phone number. */
export function requestedTerms(subject: Subject): SearchTerm[] {
  if (subject.kind === 'eval') return []
  const { kind, value } = subject
  const key = kind === 'email' ? emailKey(value) : phoneKey(value)
  if (key !== null) return [{ kind, key, spelling: key }]
  throw new UsageError(
    kind === 'email'
      ? 'This is not an e-mail address: write it as the customer gave it, e.g. --email jane@example.org.'
      : 'This is not a phone number: write at least seven digits, e.g. --phone "0412 345 678".',
  )
}

/** Masks the subject for people and receipts: recognisable, but not readable. */
export function maskSubject(subject: Subject): string {
  if (subject.kind === 'eval') return String(subject.evalId)
  if (subject.kind === 'phone') return `***${digitsIn(subject.value).slice(-2)}`
  const [name = '', host = ''] = normaliseText(subject.value).text.trim().split('@')
  return `${name.slice(0, 1)}***@${host.slice(0, 1)}***`
}

/** Finds the subject of an erasure. UsageError if the evaluation is unknown, or in several dealer groups. */
export async function findSubject(work: ErasureWork, subject: Subject): Promise<Findings> {
  const requested = requestedTerms(subject)
  const begin = subject.kind === 'eval' ? [await theEvaluation(work.db, subject)] : []
  return await findCustomer(work, requested, begin)
}

/** The same while loads continue, so that the cache has almost everything when they must wait. */
export async function searchBeforeLocking(
  pool: pg.Pool,
  wire: AppraisalWire,
  subject: Subject,
  cache: SearchCache,
): Promise<void> {
  await searchWithoutLocks(pool, wire, cache, async (work) => await findSubject(work, subject))
}

/** Runs reading work without lasting locks, with parallel scans. */
export async function searchWithoutLocks<T>(
  pool: pg.Pool,
  wire: AppraisalWire,
  cache: SearchCache,
  read: (work: ErasureWork) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  const db = dbOn(client)
  try {
    // Bodies are stored outside their table (TOAST), so the table is small and Postgres would scan it with one process.
    await sql`set min_parallel_table_scan_size = '256kB'`.execute(db)
    const tables = await textTables(db)
    return await read({ db, wire, tables, search: cache.searchWith(db, 'unlocked') })
  } finally {
    // Closes the session: the pool must not reuse its settings.
    client.release(true)
  }
}

async function theEvaluation(
  db: Db,
  { evalId, rooftopUid }: Extract<Subject, { kind: 'eval' }>,
): Promise<EvaluationKey> {
  const [one, ...others] = await findEvaluations(db, evalId, rooftopUid)
  if (one === undefined)
    throw new UsageError(
      `Evaluation ${evalId} is in no table${rooftopUid === null ? '' : ` of ${rooftopUid}`}: nothing was erased. "forecourt why ${evalId}" shows what the warehouse has of an evaluation.`,
    )
  if (others.length > 0) {
    const { rows } = await sql<{ rooftop_uid: string }>`
      select rooftop_uid from core.rooftop
      where group_id = any(${[one, ...others].map(({ groupId }) => groupId)}::int[])
      order by 1`.execute(db)
    throw new UsageError(
      `Evaluation ${evalId} is in several dealer groups: add --rooftop, one of ${rows.map((row) => row.rooftop_uid).join(', ')}.`,
    )
  }
  return one
}
