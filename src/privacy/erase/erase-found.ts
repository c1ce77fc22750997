import { sql } from 'kysely'
import type { Person } from '../../values/person.ts'
import { refreshSums } from '../../warehouse/db/sums.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import {
  distinctTerms,
  isName,
  plainTerms,
  termsForOwnEvaluation,
  unionOfTerms,
  withoutNames,
} from '../screen/search-terms.ts'
import { digester, suppress, suppressContacts, suppressedAmong } from '../screen/suppression.ts'
import { type EvaluationErasure, eraseEvaluations } from './erase-evaluation.ts'
import { addCounts, type Counts, type ErasureWork, type EvaluationKey } from './erasure-work.ts'
import type { Findings, Found } from './find-customer.ts'
import { isSamePerson } from './persons.ts'
import { evaluationNames } from './receipt.ts'
import { redactColumn, rewrite } from './scan.ts'

/** The findings of an erasure, with its id. */
interface Erasing {
  readonly findings: Findings
  readonly secret: Buffer
  readonly erasureId: number
}

/** Makes all changes of an erasure, except its own record. */
export async function eraseFound(tx: Tx, work: ErasureWork, erasing: Erasing) {
  const { db } = tx
  const { secret, erasureId } = erasing
  const { found, former, mentions: mentioning, terms, otherRows } = erasing.findings
  const persons = [...found, ...former].flatMap((each) => each.persons)
  const erased = await eraseOwn(tx, work, erasing)
  const mentions = await eraseMentions(tx, work, erasing)
  const rows: Counts[] = []
  const naming = plainTerms(terms)
  for (const hit of otherRows) {
    const count = await rewrite(db, [hit], (text, column) =>
      redactColumn(column, text, hit.isForeign ? withoutNames(naming) : naming),
    )
    rows.push({ [hit.table.name]: count })
  }
  // A type of reconditioning may have named the customer.
  const touched = [...found, ...former, ...mentioning]
  await refreshSums(
    tx.db,
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
  { db }: Tx,
  work: ErasureWork,
  { findings: { found, terms }, secret, erasureId }: Erasing,
) {
  let [counts, suppressed]: [Counts, number] = [{}, 0]
  // Built once for all evaluations: a customer may have hundreds.
  const naming = plainTerms(terms)
  const digest = digester(secret)
  for (const [groupId, all] of Map.groupBy(found, (each) => each.groupId)) {
    const ids = all.map(({ evalId }) => evalId)
    const before = await suppressedAmong(db, groupId, ids)
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
      if (await suppress(db, digest, groupId, entry)) suppressed++
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
  { db }: Tx,
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
    if (await suppress(db, digest, key.groupId, entry)) suppressed++
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
