import { sql } from 'kysely'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { evaluationPeople } from '../../streams/evaluations/person.ts'
import type { Person } from '../../values/person.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { parseJson } from '../screen/scrub-payload.ts'
import {
  personTerms,
  possibleContactTerms,
  termId,
  termsForOwnEvaluation,
} from '../screen/search-terms.ts'
import type { ErasureWork, EvaluationKey } from './erasure-work.ts'

/** The people that an evaluation has named as its customer. */
export interface NamedPersons {
  /** From the loaded row, every stored body, and quarantine. */
  readonly all: readonly Person[]
  /** The customer now: as loaded, else from the newest body. Empty: no one any more. */
  readonly current: readonly Person[]
}

/** Limits the bodies in memory. */
const evaluationsAtOnce = 100

/** Reads all people that evaluations have named, in the order of `keys`: loaded ones first, then from the newest body
 *  on. Reads many evaluations together, because a customer may have hundreds. */
export async function readPersons<Key extends EvaluationKey>(
  work: Pick<ErasureWork, 'db' | 'wire'>,
  keys: readonly Key[],
): Promise<{ readonly key: Key; readonly named: NamedPersons }[]> {
  const named = new Map<Key, NamedPersons>()
  for (const ofGroup of Map.groupBy(keys, ({ groupId }) => groupId).values())
    for (let at = 0; at < ofGroup.length; at += evaluationsAtOnce) {
      const some = ofGroup.slice(at, at + evaluationsAtOnce)
      for (const [key, persons] of await personsOfSome(work, some)) named.set(key, persons)
    }
  return keys.map((key) => ({ key, named: named.get(key)! }))
}

/** Of one dealer group. */
async function personsOfSome<Key extends EvaluationKey>(
  { db, wire }: Pick<ErasureWork, 'db' | 'wire'>,
  keys: readonly Key[],
): Promise<(readonly [Key, NamedPersons])[]> {
  const { rooftopIds } = keys[0]!
  const ids = keys.map(({ evalId }) => evalId)
  const texts = ids.map(String)
  const { rows: loaded } = await sql<Person & { evalId: number }>`
    select eval_id as "evalId", customer_name as name, phone, email, address, suburb, registration_plate as plate
    from pii.evaluation_customer
    where rooftop_id = any(${rooftopIds}::int[]) and eval_id = any(${ids}::bigint[])`.execute(db)
  const { rows: bodies } = await sql<{ evalId: string; body: string }>`
    select id as "evalId", body from (
      select natural_key as id, body::text as body, fetched_at as at, 1 as rank from raw.payload
      where rooftop_id = any(${rooftopIds}::int[]) and endpoint = ${evaluationRecords.endpoint}
        and natural_key = any(${texts}::text[])
      union all
      select natural_key, payload, null, 2 from ops.quarantine
      where rooftop_id = any(${rooftopIds}::int[]) and stream = ${evaluationRecords.name}
        and natural_key = any(${texts}::text[]) and payload is not null
    ) as stored order by rank, at desc`.execute(db)
  const loadedOf = Map.groupBy(loaded, ({ evalId }) => evalId)
  const bodiesOf = Map.groupBy(bodies, ({ evalId }) => Number(evalId))
  return keys.map((key) => {
    const received = (bodiesOf.get(key.evalId) ?? []).flatMap(({ body: text }) => {
      const body = parseJson(text)
      return body === undefined ? [] : [evaluationPeople.readPerson(body, key.evalId, wire)]
    })
    const unnamed = received[0]?.unnamed
    const rows = (loadedOf.get(key.evalId) ?? []).map(({ evalId: _, ...person }) =>
      unnamed ? { ...person, unnamed } : person,
    )
    const asLoaded = rows.filter(isSomebody)
    const current = asLoaded.length > 0 ? asLoaded : received.filter(isSomebody).slice(0, 1)
    return [key, { all: [...rows, ...received], current }]
  })
}

/** Whether the fields identify a person; a suburb or a plate alone does not. */
function isSomebody(person: Person): boolean {
  return termsForOwnEvaluation({ ...person, suburb: null, plate: null }).length > 0
}

/** Whether two are probably the same person: they share an e-mail, a phone number or the full name. */
export function isSamePerson(one: Person, other: Person): boolean {
  const known = new Set(personTermIds(one))
  return personTermIds(other).some((key) => known.has(key))
}

function personTermIds(person: Person): string[] {
  return [...personTerms({ ...person, address: null }), ...possibleContactTerms(person)].map(termId)
}

/** The evaluations with that number: one for each dealer group that has it. */
export async function findEvaluations(
  db: Db,
  evalId: number,
  rooftopUid: string | null,
): Promise<EvaluationKey[]> {
  const key = String(evalId)
  const { rows } = await sql<EvaluationKey>`
    select group_id as "groupId", ${key}::bigint as "evalId", array_agg(distinct rooftop_id) as "rooftopIds"
    from core.rooftop
    where group_id in (
      select group_id from core.rooftop where ${rooftopUid}::text is null or rooftop_uid = ${rooftopUid}
    ) and group_id in (
      select group_id from core.rooftop where rooftop_id in (
        select rooftop_id from core.evaluation where eval_id = ${key}::bigint
        union select rooftop_id from raw.payload where endpoint = ${evaluationRecords.endpoint}
          and natural_key = ${key}::text
        union select rooftop_id from ops.quarantine where stream = ${evaluationRecords.name}
          and natural_key = ${key}::text
        union select rooftop_id from ops.webhook_delivery where eval_id = ${key}::bigint)
    )
    group by group_id order by group_id`.execute(db)
  return rows.map((row) => ({ ...row, evalId: Number(row.evalId) }))
}

/** Dealer groups by rooftop, with all rooftops of each. */
export async function readGroups(
  db: Db,
): Promise<ReadonlyMap<number, Pick<EvaluationKey, 'groupId' | 'rooftopIds'>>> {
  const { rows } = await sql<{ id: number; groupId: number; rooftopIds: number[] }>`
    select rooftop_id as id, group_id as "groupId",
      array_agg(rooftop_id) over (partition by group_id) as "rooftopIds"
    from core.rooftop`.execute(db)
  return new Map(rows.map(({ id, ...group }) => [id, group]))
}
