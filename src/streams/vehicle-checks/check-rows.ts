import { type Kysely, sql } from 'kysely'
import type { DerivedTable } from '../../sync/records/payload-rows.ts'
import type { Row } from '../../values/record.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { readCounts } from './certificate-counts.ts'
import { checkKey, type ListedCheck } from './check-answers.ts'
import { type CheckRow, type LinkRow, linkKey, newCheck, type StoredChecks } from './merge.ts'
import type { StatusChange } from './watch-statuses.ts'

/** The checks on some vehicles of a dealer group, and those with one of the listed refs, whatever their vehicle, with their links. */
export async function readChecks(
  db: Kysely<Tables>,
  groupId: number,
  vins: readonly string[],
  listed: ReadonlyMap<string, ListedCheck>,
): Promise<StoredChecks> {
  const refs = [...listed.values()].map(({ check }) => check.ref)
  const { rows: checks } = await sql<CheckRow>`
    select * from core.vehicle_check
    where group_id = ${groupId} and (vin = any(${[...vins]}::text[]) or check_ref = any(${refs}::text[]))`.execute(
    db,
  )
  const { rows: links } = await sql<LinkRow>`
    select link.* from pii.signed_link as link join core.rooftop using (rooftop_id)
    where group_id = ${groupId} and link_kind in ('ppsr_pdf', 'car_history_pdf') and link_ref = any(${refs}::text[])`.execute(
    db,
  )
  const { rows: terminal } = await sql<{ status: string }>`
    select watch_status as status from core.ref_watch_status where is_terminal`.execute(db)
  return {
    checks: new Map(checks.map((row) => [checkKey(row.check_kind, row.check_ref), row])),
    links: new Map(links.map((row) => [linkKey(row), row])),
    terminal: new Set(terminal.map(({ status }) => status)),
  }
}

/** The rows of checks that are listed for the first time, by key, before the list is merged into them. A check belongs to the latest
 *  evaluation of its vehicle that existed when it was made, else to the first one; without any, it has no row. */
export async function readNewChecks(
  db: Kysely<Tables>,
  groupId: number,
  listed: ReadonlyMap<string, ListedCheck>,
  { checks }: Pick<StoredChecks, 'checks'>,
  wire: AppraisalWire,
): Promise<ReadonlyMap<string, CheckRow>> {
  const missing = [...listed].filter(
    ([key, { answer }]) => answer.isOfThisVehicle && !checks.has(key),
  )
  if (missing.length === 0) return new Map()
  const vins = missing.map(([, { answer }]) => answer.vin)
  const times = missing.map(([, { answer, check }]) => check.searchedAt ?? answer.at)
  const { rows: owners } = await sql<{ place: number; rooftop_id: number; eval_id: number }>`
    select place::int, owner.rooftop_id, owner.eval_id
    from unnest(${vins}::text[], ${times}::timestamptz[]) with ordinality as check_made (vin, at, place)
    cross join lateral (
      select rooftop_id, eval_id from core.evaluation
      where group_id = ${groupId} and evaluation.vehicle_vin = check_made.vin
      order by gone_at is null desc, created_at <= check_made.at desc,
        case when created_at <= check_made.at then created_at end desc, created_at, eval_id
      limit 1
    ) as owner`.execute(db)
  const searches = missing.filter(([, { answer }]) => answer.kind === 'ppsr')
  const refs = searches.map(([, { check }]) => check.ref)
  const counts = await readCounts(db, groupId, refs, wire)
  return new Map(
    owners.map(({ place, ...owner }) => {
      const [key, listed] = missing[place - 1]!
      const { answer, check } = listed
      const given = answer.kind === 'ppsr' ? counts.get(check.ref) : undefined
      return [key, newCheck(listed, owner, given)]
    }),
  )
}

/** The stored rows beside those that the answers make. */
export function checkTables(
  stored: StoredChecks,
  {
    checks,
    links,
    statuses,
  }: Pick<StoredChecks, 'checks' | 'links'> & {
    readonly statuses: readonly { readonly change: StatusChange | null }[]
  },
): DerivedTable[] {
  const recordOf = (row: Row) => String(row['eval_id'])
  const changes = statuses.flatMap(({ change }) => change ?? [])
  return [
    {
      table: 'core.vehicle_check',
      stored: [...stored.checks.values()],
      derived: [...checks.values()],
      recordOf,
    },
    { table: 'core.watch_status_change', stored: [], derived: changes, recordOf },
    {
      table: 'pii.signed_link',
      stored: [...stored.links.values()],
      derived: [...links.values()],
      recordOf,
    },
  ]
}
