import type pg from 'pg'
import { evaluations } from '../streams/evaluations/evaluations.ts'
import type { Person } from '../streams/stream.ts'
import { parsed } from './scrub.ts'
import type { ErasureWork, EvaluationKey } from './work.ts'

interface BodyRow {
  readonly body: string
}

/** Everybody whom an evaluation has named as its customer: as loaded, in every kept body, and in quarantine. */
export async function personsOf(
  { client, wire }: Pick<ErasureWork, 'client' | 'wire'>,
  { evalId, rooftopIds }: EvaluationKey,
): Promise<Person[]> {
  const key = [rooftopIds, String(evalId)]
  const { rows: loaded } = await client.query<Person>(
    `select customer_name as name, phone, email, address, suburb, registration_plate as plate
     from pii.evaluation_customer where rooftop_id = any($1::int[]) and eval_id = $2::bigint`,
    key,
  )
  const { rows: bodies } = await client.query<BodyRow>(
    `select body::text as body from raw.payload
     where rooftop_id = any($1::int[]) and endpoint = $3 and natural_key = $2
     union all
     select payload from ops.quarantine
     where rooftop_id = any($1::int[]) and stream = $4 and natural_key = $2 and payload is not null`,
    [...key, evaluations.endpoint, evaluations.name],
  )
  return [
    ...loaded,
    ...bodies.flatMap(({ body: text }) => {
      const body = parsed(text)
      return body === undefined ? [] : [evaluations.personOf(body, evalId, wire)]
    }),
  ]
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
