import type pg from 'pg'
import { evaluations } from '../streams/evaluations/evaluations.ts'
import type { Person } from '../streams/windowed-stream.ts'
import { identify, needlesOf, ownNeedlesOf } from './needles.ts'
import { parsed } from './scrub.ts'
import type { ErasureWork, EvaluationKey } from './work.ts'

interface BodyRow {
  readonly body: string
}

/** Whom an evaluation has named as its customer. */
export interface Named {
  /** As loaded, in every kept body, and in quarantine. */
  readonly all: readonly Person[]
  /** Of these, whom it names now: as loaded, else as in what was received last. Empty: nobody any more. */
  readonly present: readonly Person[]
}

/** Everybody whom an evaluation has named, those first whom it was loaded with, then from the newest body on. */
export async function personsOf(
  { client, wire }: Pick<ErasureWork, 'client' | 'wire'>,
  { evalId, rooftopIds }: EvaluationKey,
): Promise<Named> {
  const key = [rooftopIds, String(evalId)]
  const { rows: loaded } = await client.query<Person>(
    `select customer_name as name, phone, email, address, suburb, registration_plate as plate
     from pii.evaluation_customer where rooftop_id = any($1::int[]) and eval_id = $2::bigint`,
    key,
  )
  const { rows: bodies } = await client.query<BodyRow>(
    `select body from (
       select body::text as body, fetched_at as at, 1 as place from raw.payload
       where rooftop_id = any($1::int[]) and endpoint = $3 and natural_key = $2
       union all
       select payload, null, 2 from ops.quarantine
       where rooftop_id = any($1::int[]) and stream = $4 and natural_key = $2 and payload is not null
     ) as kept order by place, at desc`,
    [...key, evaluations.endpoint, evaluations.name],
  )
  const received = bodies.flatMap(({ body: text }) => {
    const body = parsed(text)
    return body === undefined ? [] : [evaluations.personOf(body, evalId, wire)]
  })
  const asLoaded = loaded.filter(isSomebody)
  const present = asLoaded.length > 0 ? asLoaded : received.filter(isSomebody).slice(0, 1)
  return { all: [...loaded, ...received], present }
}

/** A suburb or a plate alone is nobody. */
function isSomebody(person: Person): boolean {
  return ownNeedlesOf({ ...person, suburb: null, plate: null }).length > 0
}

/** Whether two are the same person, as far as can be told: by an e-mail, a phone number or the full name. */
export function isSamePerson(one: Person, other: Person): boolean {
  const known = new Set(namesOf(one))
  return namesOf(other).some((key) => known.has(key))
}

function namesOf(person: Person): string[] {
  return needlesOf({ ...person, address: null }).map(identify)
}

/** The evaluations of that number: one of each dealer group that knows it. */
export async function findById(
  client: pg.ClientBase,
  evalId: number,
  rooftopUid: string | null,
): Promise<EvaluationKey[]> {
  const { rows } = await client.query<EvaluationKey>(
    `select group_id as "groupId", $1::bigint as "evalId", array_agg(distinct rooftop_id) as "rooftopIds"
     from core.rooftop
     where group_id in (
       select group_id from core.rooftop where $4::text is null or rooftop_uid = $4
     ) and group_id in (
       select group_id from core.rooftop where rooftop_id in (
         select rooftop_id from core.evaluation where eval_id = $1::bigint
         union select rooftop_id from raw.payload where endpoint = $2 and natural_key = $1::text
         union select rooftop_id from ops.quarantine where stream = $3 and natural_key = $1::text)
     )
     group by group_id order by group_id`,
    [String(evalId), evaluations.endpoint, evaluations.name, rooftopUid],
  )
  return rows.map((row) => ({ ...row, evalId: Number(row.evalId) }))
}

/** Dealer groups by rooftop, with all rooftops of each. */
export async function readGroups(
  client: pg.ClientBase,
): Promise<ReadonlyMap<number, Pick<EvaluationKey, 'groupId' | 'rooftopIds'>>> {
  const { rows } = await client.query<{ id: number; groupId: number; rooftopIds: number[] }>(
    `select rooftop_id as id, group_id as "groupId",
       array_agg(rooftop_id) over (partition by group_id) as "rooftopIds" from core.rooftop`,
  )
  return new Map(rows.map(({ id, ...group }) => [id, group]))
}
