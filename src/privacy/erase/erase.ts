import { sql } from 'kysely'
import type pg from 'pg'
import { errorText, UsageError } from '../../errors.ts'
import type { Person } from '../../values/person.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { refreshSums } from '../../warehouse/db/sums.ts'
import { type Db, inTransaction, openDb, type Tx } from '../../warehouse/db/transaction.ts'
import {
  distinctTerms,
  isName,
  plainTerms,
  type SearchTerm,
  termId,
  termsForOwnEvaluation,
  unionOfTerms,
  withoutNames,
  withoutWholeTerms,
} from '../screen/search-terms.ts'
import {
  digester,
  ensureSecret,
  erasedContacts,
  suppress,
  suppressContacts,
  suppressedAmong,
} from '../screen/suppression.ts'
import {
  type EvaluationErasure,
  eraseEvaluations,
  insteadOfWhole,
  isStillThere,
} from './erase-evaluation.ts'
import { addCounts, type Counts, type ErasureWork, type EvaluationKey } from './erasure-work.ts'
import {
  distinctPeople,
  evaluationKey,
  type Findings,
  type Found,
  uniqueRooftops,
} from './find-customer.ts'
import { buildPatterns } from './pattern.ts'
import { isSamePerson, readGroups } from './persons.ts'
import {
  type ErasureRequest,
  type EvaluationName,
  evaluationNames,
  insertErasure,
  type Receipt,
  writeReceipt,
} from './receipt.ts'
import { type Hit, matchesTerms, redactColumn, rewrite, rowsOfEvaluations } from './scan.ts'
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
  { db }: Tx,
  wire: AppraisalWire,
  request: ErasureRequest,
  cache: SearchCache,
  mode: 'cached' | 'locked',
): Promise<Done> {
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
  const erased = await eraseFound(work, { findings, secret, erasureId })
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

/** The findings of an erasure, with its id. */
interface Erasing {
  readonly findings: Findings
  readonly secret: Buffer
  readonly erasureId: number
}

/** Makes all changes of an erasure, except its own record. */
async function eraseFound(work: ErasureWork, erasing: Erasing) {
  const { db } = work
  const { secret, erasureId } = erasing
  const { found, former, mentions: mentioning, terms, otherRows } = erasing.findings
  const persons = [...found, ...former].flatMap((each) => each.persons)
  const erased = await eraseOwn(work, erasing)
  const mentions = await eraseMentions(work, erasing)
  const rows: Counts[] = []
  const naming = plainTerms(terms)
  for (const hit of otherRows) {
    const sought = hit.isForeign ? withoutNames(naming) : naming
    const count = await rewrite(db, [hit], (text, column) => {
      const redacted = redactColumn(column, text, sought)
      return redacted === text ? text : (insteadOfWhole(column, hit) ?? redacted)
    })
    rows.push({ [hit.table.name]: count })
  }
  // A type of reconditioning may have named the customer.
  const touched = [...found, ...former, ...mentioning]
  await refreshSums(
    db,
    touched.map(({ groupId }) => groupId),
    touched.map(({ evalId }) => evalId),
  )
  const links = await eraseLinks(db, found)
  return {
    evaluations: await evaluationNames(db, found),
    mentionedIn: await evaluationNames(db, mentions.keys),
    tables: addCounts(erased.counts, mentions.counts, ...rows, links.counts, await dropUploads(db)),
    files: links.files,
    suppressed: {
      evaluations: erased.suppressed + mentions.suppressed,
      contacts: await suppressContacts(db, secret, erasureId, { persons, terms }),
    },
  }
}

/** Uploaded stock lists that wait to be imported may name the customer, and a workbook cannot be searched: all of them go. They can be
 *  uploaded again; one that a drop folder refused is still in failed/. */
async function dropUploads(db: Db): Promise<Counts> {
  const dropped = await sql`delete from ops.stock_upload where content is not null`.execute(db)
  return { 'ops.stock_upload': Number(dropped.numAffectedRows) }
}

/** Limits the rows in memory. */
const evaluationsAtOnce = 100

/** Erases the customer's own evaluations. */
async function eraseOwn(
  work: ErasureWork,
  { findings: { found, terms }, secret, erasureId }: Erasing,
) {
  let [counts, suppressed]: [Counts, number] = [{}, 0]
  // Built once for all evaluations: a customer may have hundreds.
  const naming = plainTerms(terms)
  const digest = digester(secret)
  for (const [groupId, all] of Map.groupBy(found, (each) => each.groupId)) {
    const ids = all.map(({ evalId }) => evalId)
    const before = await suppressedAmong(work.db, groupId, ids)
    const erasures: EvaluationErasure[] = []
    for (const each of all) {
      const theirs = distinctTerms(each.persons.flatMap(termsForOwnEvaluation))
      const foundTerms = unionOfTerms(naming, plainTerms(theirs))
      const known = before.get(each.evalId)
      const sought = known ? unionOfTerms(foundTerms, known.terms) : foundTerms
      erasures.push({ key: each, erased: { scope: 'customer', terms: sought } })
      const listed = distinctTerms([...terms, ...theirs])
      const { evalId } = each
      const entry = { evalId, scope: 'customer', erasureId, terms: listed } as const
      if (await suppress(work.db, digest, groupId, entry)) suppressed++
    }
    for (let at = 0; at < erasures.length; at += evaluationsAtOnce) {
      const some = erasures.slice(at, at + evaluationsAtOnce)
      counts = addCounts(counts, ...(await eraseEvaluations(work, some)))
    }
  }
  return { counts, suppressed }
}

/** Erases mentions in evaluations of others. Returns those where something was removed. Former evaluations of the customer
 *  are included. */
async function eraseMentions(
  work: ErasureWork,
  { findings: { found, mentions, former, terms: all }, secret, erasureId }: Erasing,
) {
  const keys: EvaluationKey[] = []
  let [counts, suppressed]: [Counts, number] = [{}, 0]
  const digest = digester(secret)
  const home = new Set([...found, ...former].map(({ groupId }) => groupId))
  for (const { key, persons } of [
    ...mentions.map((key) => ({ key, persons: [] as Found['persons'] })),
    ...former.map((key) => ({ key, persons: key.persons })),
  ]) {
    const terms = home.has(key.groupId) ? all : all.filter((term) => !isName(term))
    const erased = { scope: 'mention', terms: plainTerms(terms) } as const
    const isSubject = (person: Person) => persons.some((one) => isSamePerson(one, person))
    const [done] = await eraseEvaluations(work, [
      { key, erased, isSubject: persons.length > 0 ? isSubject : undefined },
    ])
    if (Object.keys(done!).length === 0) continue
    keys.push(key)
    counts = addCounts(counts, done!)
    const entry = { evalId: key.evalId, scope: 'mention', erasureId, terms } as const
    if (await suppress(work.db, digest, key.groupId, entry)) suppressed++
  }
  return { keys, counts, suppressed }
}

/** Deletes the signed links and archived PDFs of evaluations. Files that no other check has are recorded for removal. */
async function eraseLinks(
  db: Db,
  evaluations: readonly EvaluationKey[],
): Promise<{ readonly counts: Counts; readonly files: number }> {
  const ofThem = sql`(rooftop_id, eval_id) in (
    select rooftop_id, eval_id
    from unnest(${evaluations.map(({ groupId }) => groupId)}::int[], ${evaluations.map(({ evalId }) => evalId)}::bigint[])
      as erased (group_id, eval_id) join core.rooftop using (group_id))`
  const links = await sql`delete from pii.signed_link where ${ofThem}`.execute(db)
  const pdfs = await sql<{ sha256: Buffer }>`
    delete from pii.archived_pdf where ${ofThem} returning sha256`.execute(db)
  const noted = await sql`
    insert into pii.erasure_file (sha256)
    select distinct sha256 from unnest(${pdfs.rows.map(({ sha256 }) => sha256)}::bytea[]) as gone (sha256)
    where not exists (select from pii.archived_pdf as stored where stored.sha256 = gone.sha256)
    on conflict do nothing`.execute(db)
  const counts = addCounts({
    'pii.signed_link': Number(links.numAffectedRows),
    'pii.archived_pdf': pdfs.rows.length,
  })
  return { counts, files: Number(noted.numAffectedRows) }
}

/** Searches all texts of the warehouse for the customer again. Within the erasure, `work.search` may skip what was
 *  searched before and not written since. */
async function rescan(
  work: ErasureWork,
  { found, former, terms, shared, dealerNames }: Findings,
): Promise<Receipt['rescan']> {
  const groups = await readGroups(work.db)
  const isDealerName = new Set(dealerNames.map(termId))
  const naming = plainTerms(terms)
  // Built once for each evaluation: building it for each row would take most of the time.
  const termsByEvaluation = new Map(
    found.map((each) => {
      const theirs = each.persons.flatMap(termsForOwnEvaluation)
      const named = plainTerms(theirs.filter((term) => !isDealerName.has(termId(term))))
      return [evaluationKey(each), unionOfTerms(naming, named)] as const
    }),
  )
  const hits = await work.search(
    work.tables,
    buildPatterns([...terms, ...shared], uniqueRooftops([...found, ...former])),
  )
  for (const each of Map.groupBy(found, ({ groupId }) => groupId).values())
    for (const table of work.tables) {
      const ids = each.map(({ evalId }) => evalId)
      hits.push(...(await rowsOfEvaluations(work.db, table, each[0]!.rooftopIds, ids)))
    }
  const anyOf = plainTerms([...terms, ...shared])
  const evaluationTerms = (hit: Hit) => {
    const group = hit.evaluation && groups.get(hit.evaluation.rooftopId)
    return (
      group && termsByEvaluation.get(evaluationKey({ ...group, evalId: hit.evaluation!.evalId }))
    )
  }
  const resultOf = (hit: Hit): 'left' | 'others' | 'clean' => {
    const theirs = evaluationTerms(hit)
    const inner = withoutWholeTerms(theirs ?? naming)
    const sought = hit.isForeign ? withoutNames(inner) : inner
    const erased = { scope: theirs ? 'customer' : 'mention', terms: sought } as const
    if (isStillThere(work, hit, erased)) return 'left'
    return matchesTerms(hit, sought) || matchesTerms(hit, anyOf) ? 'others' : 'clean'
  }
  const once = new Map(hits.map((hit) => [`${hit.table.name} ${hit.ctid}`, hit]))
  const results = Map.groupBy(once.values(), resultOf)
  const count = (of: 'left' | 'others') =>
    addCounts(...(results.get(of) ?? []).map(({ table }) => ({ [table.name]: 1 })))
  return { tables: work.tables.length, left: count('left'), others: count('others') }
}
