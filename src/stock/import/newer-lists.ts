import { sql } from 'kysely'
import { plural } from '../../values/text.ts'
import type { GuardRefusal } from '../refusal-kinds.ts'
import type { ImportRequest } from './request.ts'
import type { Staging } from './stage.ts'

const namedUnits = 10

/** A refusal if a correction of an earlier list would change vehicles that a newer list names, or bring one back that a newer list of the
 *  whole stock no longer has. */
export async function guardNewerLists(
  { db, tables, rooftopId, importId }: Staging,
  { allowOlderValues = false }: ImportRequest,
  corrects: number | null,
): Promise<GuardRefusal | null> {
  if (corrects === null || allowOlderValues) return null
  const { rows } = await newerQuery(tables.units, rooftopId, importId, corrects).execute(db)
  if (rows.length === 0) return null
  const first = rows.slice(0, namedUnits)
  const more = rows.length > namedUnits ? '; …' : ''
  const named = first.map((unit) => `${unitName(unit)}${unitDifference(unit)}`).join('; ')
  const would = `would change ${plural(rows.length, 'car')} about which there are newer lists: ${named}${more}`
  return { is: 'newer', count: rows.length, would }
}

interface NewerUnit {
  readonly stock_no: string
  readonly list: string
  readonly is_named: boolean
  /** Old and new value by column; null: it has none here now. */
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>> | null
}

function unitName({ stock_no, list, is_named }: NewerUnit): string {
  return is_named ? `${stock_no} is in ${list}` : `${stock_no} has left: it is not in ${list}`
}

function unitDifference({ changes }: NewerUnit): string {
  const parts = Object.entries(changes ?? {}).map(([column, values]) => {
    const [now, then] = values.map((value) => (value === null ? 'none' : String(value)))
    return `${column} ${now} → ${then}`
  })
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

// Of each vehicle that would change, the newest list that names it, or from which it is missing. A row that an earlier correction of
// the same list has rejected says nothing new.
const newerQuery = (
  units: string,
  rooftopId: number,
  importId: number,
  corrects: number,
) => sql<NewerUnit>`
with concerned as (
  select stock_no, coalesce(old_stock_no, stock_no) as known_as, change <> 'updated' as is_new, changes from stock_diff
  union all select stock_no, stock_no, true, null from ${sql.table(units)} where rooftop_id = ${rooftopId} and import_id = ${importId}
  union all select stock_no, stock_no, false, null from stock_gone
), newer as (
  select import_id, file_name, mode, coalesce((dialect ->> 'corrects')::bigint = ${corrects}, false) or exists (
    select from ops.stock_upload as correction where correction.import_id = list.import_id and correction.corrects_import_id = ${corrects}
  ) as is_correction
  from core.stock_import as list where rooftop_id = ${rooftopId} and import_id > ${corrects} and import_id <> ${importId}
), named as (
  select distinct concerned.stock_no, newer.import_id
  from newer join core.stock_import_row as stored using (import_id)
  join concerned on stored.stock_no in (concerned.stock_no, concerned.known_as)
  where not (newer.is_correction and stored.status = 'rejected')
)
select distinct on (concerned.stock_no) concerned.stock_no, newer.file_name || ' (import ' || newer.import_id || ')' as list,
  named.stock_no is not null as is_named, concerned.changes
from concerned cross join newer left join named on named.stock_no = concerned.stock_no and named.import_id = newer.import_id
where named.stock_no is not null or concerned.is_new and newer.mode = 'snapshot'
order by concerned.stock_no, newer.import_id desc`
