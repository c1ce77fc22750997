import { sql } from 'kysely'
import type pg from 'pg'
import { errorText, UsageError } from '../../errors.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { type Db, inTransaction, openDb, type Tx } from '../../warehouse/db/transaction.ts'
import { distinctTerms, type SearchTerm, termsForOwnEvaluation } from '../screen/search-terms.ts'
import { ensureSecret, erasedContacts } from '../screen/suppression.ts'
import { eraseFound } from './erase-found.ts'
import { distinctPeople, type Findings } from './find-customer.ts'
import {
  type ErasureRequest,
  type EvaluationName,
  evaluationNames,
  insertErasure,
  type Receipt,
  writeReceipt,
} from './receipt.ts'
import { rescan } from './rescan.ts'
import { NotCachedError, SearchCache } from './search.ts'
import {
  findSubject,
  maskSubject,
  requestedTerms,
  type Subject,
  searchBeforeLocking,
  searchWithoutLocks,
} from './subject.ts'
import { textTables } from './text-tables.ts'

/** Thrown to roll a dry run back; has its receipt. */
class DryRun extends Error {
  readonly receipt: Receipt

  constructor(receipt: Receipt) {
    super('dry run: rolled back')
    this.receipt = receipt
  }
}

const deadlock = '40P01'

/**
 * Erases a customer everywhere in the warehouse, in one transaction, and puts them on the suppression list. First it searches
 * while loads continue. Then it takes the lock that every load shares (`holdErasureLock`), searches what was written
 * meanwhile, and erases, so that no concurrent load restores the data. At the end everything is searched again as proof,
 * while loads continue. Files of the archive are recorded; `removeErasedFiles` removes them. UsageError if the
 * evaluation is unknown or in several dealer groups, or if several people share the e-mail or phone.
 */
export async function erase(
  pool: pg.Pool,
  wire: AppraisalWire,
  request: ErasureRequest,
): Promise<Receipt> {
  const cache = new SearchCache()
  const searchUnlocked = async () => await searchBeforeLocking(pool, wire, request.subject, cache)
  await searchUnlocked()
  for (let left = 4; ; left--) {
    // A second search covers data that arrived during the first, so that loads wait for less.
    await searchUnlocked()
    const mode = left === 0 ? 'locked' : 'cached'
    const done = await inTransaction(pool, (tx) => eraseIn(tx, wire, request, cache, mode)).catch(
      (error: unknown) => {
        if (error instanceof DryRun) return error
        if (left === 0 || !isRetryable(error)) throw error
        return null
      },
    )
    if (done instanceof DryRun) return done.receipt
    if (done !== null) return await prove(pool, wire, done)
  }
}

/** Whether a retry may succeed: new data names the customer in a new way, or there was a deadlock. */
function isRetryable(error: unknown): boolean {
  return error instanceof NotCachedError || (error as { code?: unknown }).code === deadlock
}

interface Done {
  readonly receipt: Receipt
  readonly findings: Findings
}

async function eraseIn(
  tx: Tx,
  wire: AppraisalWire,
  request: ErasureRequest,
  cache: SearchCache,
  mode: 'cached' | 'locked',
): Promise<Done> {
  const { db } = tx
  await sql`select ${lockSql.wait('erasure')}`.execute(db)
  const tables = await textTables(db)
  const work = { db, wire, tables, search: cache.searchWith(db, mode) }
  const secret = await ensureSecret(db)
  const findings = await findSubject(work, request.subject)
  const people = await peopleNamed(db, findings)
  if (people.length > 1 && !request.dryRun && request.allPeople !== true)
    throw severalPeople(request.subject, people)
  const listed = await erasedContacts(db)
  const [before] = requestedTerms(request.subject).map((term) => listed?.erasureOf(term))
  const { erasureId, ...head } = await insertErasure(db, request, namesIn(findings))
  const erased = await eraseFound(tx, work, { findings, secret, erasureId })
  const receipt = {
    ...head,
    erasureId: request.dryRun ? null : erasureId,
    erasedBefore: before ?? null,
    matched: countMatches(findings),
    people,
    ...erased,
    alsoCarriedBy: await evaluationNames(db, findings.others),
    rescan: await rescan(work, findings),
  }
  if (request.dryRun) throw new DryRun(receipt)
  await writeReceipt(db, receipt)
  return { receipt, findings }
}

function countMatches({ found, former, mentions, otherRows }: Findings): number {
  return found.length + former.length + mentions.length + otherRows.length
}

async function peopleNamed(db: Db, { found, former }: Findings): Promise<EvaluationName[][]> {
  const people: EvaluationName[][] = []
  for (const one of distinctPeople([...found, ...former]))
    people.push(await evaluationNames(db, one))
  return people
}

/** The refusal of a contact that several people share; their evaluations as `people` names them. */
export function severalPeople(
  subject: Subject,
  people: readonly (readonly EvaluationName[])[],
): UsageError {
  const each = people.map(([one]) => `${one!.evalId} (${one!.rooftop})`).slice(0, 20)
  return new UsageError(
    `The ${subject.kind} ${maskSubject(subject)} belongs to ${people.length} people with different names, e.g. in ${each.join(', ')}: nothing was erased. --dry-run shows their evaluations; then erase one person with --eval <id>, or all with --all-people.`,
  )
}

/** Searches everything again with an empty cache, as proof. */
async function prove(
  pool: pg.Pool,
  wire: AppraisalWire,
  { receipt, findings }: Done,
): Promise<Receipt> {
  try {
    const found = await searchWithoutLocks(pool, wire, new SearchCache(), (work) =>
      rescan(work, findings),
    )
    const proved = { ...receipt, rescan: found }
    await writeReceipt(openDb(pool), proved)
    return proved
  } catch (cause) {
    throw new Error(
      `Erasure ${receipt.erasureId} is done and committed, but the search that proves it did not finish (${errorText(cause)}): run the same "forecourt erase" again.`,
      { cause },
    )
  }
}

/** All terms that may name the customer in a reason, shared ones too. */
function namesIn({ found, former, terms, shared }: Findings): SearchTerm[] {
  const persons = [...found, ...former].flatMap((each) => each.persons)
  return distinctTerms([...terms, ...shared, ...persons.flatMap(termsForOwnEvaluation)])
}
