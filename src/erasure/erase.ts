import type pg from 'pg'
import { inTransaction, type Tx } from '../db/transaction.ts'
import { UsageError } from '../errors.ts'
import type { Person } from '../streams/stream.ts'
import type { AppraisalWire } from '../values/wire.ts'
import { digestOf, digestOfPair, ensureSecret, type Secret } from './digests.ts'
import { type Findings, type Found, findCustomer } from './find.ts'
import { eraseLinks } from './links.ts'
import {
  bothNeedles,
  distinctNeedles,
  identify,
  isName,
  type Needle,
  ownNeedlesOf,
  plainNeedles,
  withoutNames,
} from './needles.ts'
import { eraseEvaluation } from './own.ts'
import { findById, isSamePerson, readGroups } from './persons.ts'
import type { Receipt } from './receipt.ts'
import { type ErasureRequest, headOf, insertErasure, nameAll } from './record.ts'
import { rescan } from './rescan.ts'
import { rewrite, withoutNeedles } from './scan.ts'
import { needlesAsked, type Subject } from './subject.ts'
import { readContacts, erasureLock, pairsOf, suppress, suppressedAmong } from './suppression.ts'
import { textTables } from './text-tables.ts'
import {
  addCounts,
  type Counts,
  type ErasureWork,
  evaluationKeys,
  type EvaluationKey,
} from './work.ts'

/** Carries the receipt of a dry run out of its transaction, which is rolled back. */
class DryRun extends Error {
  readonly receipt: Receipt

  constructor(receipt: Receipt) {
    super('a dry run keeps nothing')
    this.receipt = receipt
  }
}

const deadlock = '40P01'

/**
 * Erases a customer everywhere in the warehouse, in one transaction, and puts them on the suppression list. It holds the lock
 * that every load takes part in (`awaitErasures`), so that no load brings them in behind its back. Files of the archive are
 * noted; `removeErasedFiles` takes them away. UsageError when the evaluation is not known, or to several dealer groups.
 */
export async function erase(
  pool: pg.Pool,
  wire: AppraisalWire,
  request: ErasureRequest,
): Promise<Receipt> {
  for (let left = 2; ; left--) {
    try {
      return await inTransaction(pool, (tx) => eraseIn(tx, wire, request))
    } catch (error) {
      if (error instanceof DryRun) return error.receipt
      if (left === 0 || (error as { code?: unknown }).code !== deadlock) throw error
    }
  }
}

async function eraseIn(tx: Tx, wire: AppraisalWire, request: ErasureRequest): Promise<Receipt> {
  const { client, db } = tx
  const { subject, dryRun } = request
  const asked = needlesAsked(subject)
  await client.query('select pg_advisory_xact_lock($1::int, 0)', [erasureLock])
  const begin = subject.kind === 'eval' ? [await theEvaluation(client, subject)] : []
  const work = { client, wire, tables: await textTables(client, evaluationKeys) }
  const secret = await ensureSecret(db)
  const findings = await findCustomer(work, asked, begin)
  const contacts = await readContacts(db)
  const before = asked.map((needle) => contacts.get(digestOf(secret, needle).toString('hex')))
  const erasureId = await insertErasure(client, request, namesIn(findings))
  const erased = await eraseFound(tx, work, { findings, secret, erasureId })
  const groups = await readGroups(client)
  const receipt = {
    ...(await headOf(client, request, namesIn(findings))),
    erasureId: dryRun ? null : erasureId,
    erasedBefore: before[0] ?? null,
    ...erased,
    alsoCarriedBy: await nameAll(client, findings.others),
    rescan: await rescan(work, findings, groups),
  }
  if (dryRun) throw new DryRun(receipt)
  await client.query('update pii.erasure set receipt = $2::jsonb where erasure_id = $1', [
    erasureId,
    JSON.stringify(receipt),
  ])
  return receipt
}

/** Everything that may name the customer in a reason, shared or not. */
function namesIn({ found, former, needles, shared }: Findings): Needle[] {
  const persons = [...found, ...former].flatMap((each) => each.persons)
  return distinctNeedles([...needles, ...shared, ...persons.flatMap(ownNeedlesOf)])
}

interface Erasing {
  readonly findings: Findings
  readonly secret: Secret
  readonly erasureId: number
}

/** Everything that changes. */
async function eraseFound(tx: Tx, work: ErasureWork, erasing: Erasing) {
  const { client } = tx
  const { found, needles, elsewhere } = erasing.findings
  const own = await eraseOwn(tx, work, erasing)
  const mentions = await eraseMentions(tx, work, erasing)
  const rows: Counts[] = []
  const naming = plainNeedles(needles)
  for (const hit of elsewhere) {
    const count = await rewrite(client, [hit], (text, column) =>
      withoutNeedles(column, text, hit.isForeign ? withoutNames(naming) : naming),
    )
    rows.push({ [hit.table.name]: count })
  }
  const links = await eraseLinks(client, found)
  return {
    evaluations: await nameAll(client, found),
    mentionedIn: await nameAll(client, mentions.keys),
    tables: addCounts(own.counts, mentions.counts, ...rows, links.counts),
    files: links.files,
    suppressed: {
      evaluations: own.suppressed + mentions.suppressed,
      contacts: await suppressContacts(client, erasing),
    },
  }
}

/** The customer's own evaluations. */
async function eraseOwn(
  { db }: Tx,
  work: ErasureWork,
  { findings: { found, needles }, secret, erasureId }: Erasing,
) {
  let [counts, suppressed]: [Counts, number] = [{}, 0]
  for (const each of found) {
    const { groupId, evalId } = each
    const own = distinctNeedles([...needles, ...each.persons.flatMap(ownNeedlesOf)])
    const known = (await suppressedAmong(db, groupId, [evalId])).get(evalId)
    const all = known ? bothNeedles(plainNeedles(own), known.needles) : plainNeedles(own)
    const erased = { scope: 'customer', needles: all } as const
    counts = addCounts(counts, await eraseEvaluation(work, each, erased))
    const entry = { evalId, scope: 'customer', erasureId, needles: own } as const
    if (await suppress(db, secret, groupId, entry)) suppressed++
  }
  return { counts, suppressed }
}

/** Evaluations of others that name the customer: those where anything could be taken out. One that was the customer's once
 *  is among them. */
async function eraseMentions(
  { db }: Tx,
  work: ErasureWork,
  { findings: { found, mentions, former, needles: all }, secret, erasureId }: Erasing,
) {
  const keys: EvaluationKey[] = []
  let [counts, suppressed]: [Counts, number] = [{}, 0]
  const home = new Set([...found, ...former].map(({ groupId }) => groupId))
  for (const { key, persons } of [
    ...mentions.map((key) => ({ key, persons: [] as Found['persons'] })),
    ...former.map((key) => ({ key, persons: key.persons })),
  ]) {
    const needles = home.has(key.groupId) ? all : all.filter((needle) => !isName(needle))
    const erased = { scope: 'mention', needles: plainNeedles(needles) } as const
    const isTheirs = (person: Person) => persons.some((one) => isSamePerson(one, person))
    const done = await eraseEvaluation(work, key, erased, persons.length > 0 ? isTheirs : undefined)
    if (Object.keys(done).length === 0) continue
    keys.push(key)
    counts = addCounts(counts, done)
    const entry = { evalId: key.evalId, scope: 'mention', erasureId, needles } as const
    if (await suppress(db, secret, key.groupId, entry)) suppressed++
  }
  return { keys, counts, suppressed }
}

/** Contacts that are the customer's alone count by themselves; what others carry too counts with the name. */
async function suppressContacts(
  client: pg.ClientBase,
  { findings: { found, former, needles }, secret, erasureId }: Erasing,
): Promise<number> {
  const contacts = needles.filter(({ kind }) => kind === 'email' || kind === 'phone')
  const alone = new Set(contacts.map(identify))
  const pairs = [...found, ...former]
    .flatMap(({ persons }) => persons.flatMap(pairsOf))
    .filter(({ contact }) => !alone.has(identify(contact)))
  const entries = [
    ...contacts.map((contact) => [contact.kind, digestOf(secret, contact)] as const),
    ...pairs.map(({ name, contact }) => ['person', digestOfPair(secret, name, contact)] as const),
  ]
  const { rowCount } = await client.query(
    `insert into pii.suppressed_contact (kind, digest, erasure_id)
     select kind, digest, $3::bigint from unnest($1::text[], $2::bytea[]) as entry (kind, digest)
     on conflict do nothing`,
    [entries.map(([kind]) => kind), entries.map(([, digest]) => digest), erasureId],
  )
  return rowCount ?? 0
}

async function theEvaluation(
  client: pg.ClientBase,
  { evalId, rooftopUid }: Extract<Subject, { kind: 'eval' }>,
): Promise<EvaluationKey> {
  const [one, ...others] = await findById(client, evalId, rooftopUid)
  if (one === undefined)
    throw new UsageError(
      `Evaluation ${evalId} is in no table${rooftopUid === null ? '' : ` of ${rooftopUid}`}: nothing was erased. "forecourt why ${evalId}" shows what is known of an evaluation.`,
    )
  if (others.length > 0) {
    const { rows } = await client.query<{ rooftop_uid: string }>(
      'select rooftop_uid from core.rooftop where group_id = any($1::int[]) order by 1',
      [[one, ...others].map(({ groupId }) => groupId)],
    )
    throw new UsageError(
      `Evaluation ${evalId} is known to several dealer groups: add --rooftop, one of ${rows.map((row) => row.rooftop_uid).join(', ')}.`,
    )
  }
  return one
}
