import { sql } from 'kysely'
import { lockSql } from '../db/locks.ts'
import type { Db, Tx } from '../db/transaction.ts'
import type { Person } from '../values/person.ts'
import { type digester, termsFromDigests, digestOf, digestOfPair, type Secret } from './digests.ts'
import { contactsOf, type SearchTerm, termsOf, phraseWordsOf } from './search-terms.ts'
import type { Erased } from './scrub-payload.ts'

/** Taken by every load until its commit: an erasure waits for running loads, and later loads wait for it. */
export async function holdErasureLock({ client }: Tx): Promise<void> {
  await client.query(`select ${lockSql.waitShared('erasure')}`)
}

/** An evaluation on the suppression list. */
export interface Suppressed extends Erased {
  readonly erasureId: number
  readonly at: Date
}

/** Evaluations of one dealer group on the suppression list, by EvalID. */
export type Suppressions = ReadonlyMap<number, Suppressed>

/** The evaluations of a dealer group that are on the list. */
export async function suppressedAmong(
  db: Db,
  groupId: number,
  evalIds: readonly number[],
): Promise<Suppressions> {
  if (evalIds.length === 0) return new Map()
  const { rows } = await sql<{
    eval_id: number
    scope: Suppressed['scope']
    erasure_id: number
    suppressed_at: Date
    digests: Buffer[]
    phrase_words: number[]
    secret: Secret
  }>`
    select eval_id, scope, erasure_id, suppressed_at, digests, phrase_words, secret
    from pii.suppressed_evaluation cross join pii.erasure_secret
    where group_id = ${groupId} and eval_id = any(${[...evalIds]}::bigint[])`.execute(db)
  return new Map(
    rows.map((row) => [
      row.eval_id,
      {
        scope: row.scope,
        erasureId: row.erasure_id,
        at: row.suppressed_at,
        terms: termsFromDigests(row.secret, row.digests, row.phrase_words),
      },
    ]),
  )
}

/** When the customer of an evaluation was erased; null: never. */
export function erasedAt(suppressed: Suppressions, evalId: number): Date | null {
  const found = suppressed.get(evalId)
  return found?.scope === 'customer' ? found.at : null
}

/** Erased contacts by digest in hex, with the erasure that listed them. */
export async function readContacts(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('pii.suppressed_contact')
    .select(['digest', 'erasure_id'])
    .execute()
  return new Map(rows.map((row) => [row.digest.toString('hex'), row.erasure_id]))
}

/** The digests under which a customer would be on the list of contacts. */
export function contactDigests(secret: Secret, person: Person): Buffer[] {
  const contacts = contactsOf(person)
  return [
    ...contacts.map((contact) => digestOf(secret, contact)),
    ...pairsOf(person).map(({ name, contact }) => digestOfPair(secret, name, contact)),
  ]
}

/** Pairs of each name with each contact and address line of the person. */
export function pairsOf(person: Person): { readonly name: string; readonly contact: SearchTerm }[] {
  const names = termsOf({ ...person, email: null, phone: null, address: null })
  const contacts = termsOf({ ...person, name: null })
  return names.flatMap(({ key: name }) => contacts.map((contact) => ({ name, contact })))
}

/** In milliseconds, the precision of JavaScript: a value that is read and written back must not change. */
const thisMoment = sql`date_trunc('milliseconds', now())`

/** Puts an evaluation on the list, or extends its entry; false: nothing was new. */
export async function suppress(
  db: Db,
  digest: ReturnType<typeof digester>,
  groupId: number,
  evaluation: {
    readonly evalId: number
    readonly scope: Suppressed['scope']
    readonly erasureId: number
    readonly terms: readonly SearchTerm[]
  },
): Promise<boolean> {
  const { evalId, scope, erasureId, terms } = evaluation
  const digests = terms.map(digest)
  const { numAffectedRows } = await sql`
    insert into pii.suppressed_evaluation as known
      (group_id, eval_id, scope, erasure_id, suppressed_at, digests, phrase_words)
    values (${groupId}, ${evalId}, ${scope}, ${erasureId}, ${thisMoment}, ${digests}::bytea[], ${phraseWordsOf(terms)}::smallint[])
    on conflict (group_id, eval_id) do update set
      scope = case when known.scope = 'customer' then known.scope else excluded.scope end,
      suppressed_at = case when known.scope in ('customer', excluded.scope) then known.suppressed_at else excluded.suppressed_at end,
      digests = array(select distinct unnest(known.digests || excluded.digests)),
      phrase_words = array(select distinct unnest(known.phrase_words || excluded.phrase_words))
    where not (known.digests @> excluded.digests and (known.scope = excluded.scope or known.scope = 'customer'))`.execute(
    db,
  )
  return numAffectedRows === 1n
}
