import { sql } from 'kysely'
import type { RooftopConfig } from '../../app/config/read.ts'
import { plural } from '../../values/text.ts'
import { columnName } from '../csv/map/candidates.ts'
import type { Mapping } from '../csv/map/column-mapping.ts'
import { stockColumns } from '../csv/map/stock-fields.ts'
import { maxKm } from '../csv/map/typing/odometer.ts'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import type { GuardRefusal, Refusal } from '../refusal-kinds.ts'
import type { Diff } from './diff.ts'
import { assertSure } from './open-list.ts'
import type { ImportRequest, RowCounts } from './request.ts'
import type { Staging } from './stage.ts'

// How many are named in a message, at most.
const namedUnits = 10
const namedExamples = 5

/** A refusal if a list would remove too many vehicles: that is usually the wrong file, not a day of many sales. */
export async function guardRemovals(
  { db }: Staging,
  request: ImportRequest,
  counts: RowCounts,
  issues: readonly CellIssue[],
  diff: Diff,
): Promise<Refusal | null> {
  if (request.allowMassRemoval) return null
  if (counts.accepted === 0 && diff.left === 0) return nothingAccepted(counts, issues, diff.onHand)
  const left = diff.removed
  const isMany = left > 5 && left > diff.onHand / 5
  const isOthers = request.mode === 'snapshot' && left > diff.onHand / 2
  if (!isMany && !isOthers) return null
  const { rows } = await sql<{ stock_no: string }>`
    (select stock_no from stock_gone order by stock_no limit ${namedUnits})
    union all (select stock_no from stock_diff where is_reused and was_on_hand order by stock_no limit ${namedUnits})
    limit ${namedUnits}`.execute(db)
  const names = rows.map(({ stock_no }) => stock_no)
  return tooMany(request, diff, left, names)
}

function nothingAccepted(
  { records, skipped }: RowCounts,
  issues: readonly CellIssue[],
  onHand: number,
): Refusal {
  if (records === skipped) {
    const { hint, advice } = issues.find(({ code }) => code === 'not-in-stock') ?? {}
    const why = hint === undefined ? '' : ` (${hint})`
    const would = `has no vehicle${why}, so all ${onHand} in stock would leave`
    return { is: 'removal', count: onHand, would, ...(advice && { advice }) }
  }
  const errors = issues.filter(({ severity }) => severity === 'error').slice(0, namedExamples)
  return { is: 'nothing-valid', why: `none of its ${records - skipped} rows is valid`, errors }
}

function tooMany(
  { rooftop }: ImportRequest,
  { onHand, missing, reused, left: byStatus }: Diff,
  left: number,
  names: readonly string[],
): GuardRefusal {
  const parts = [
    ...(missing > byStatus ? [`${missing - byStatus} are not in it`] : []),
    ...(byStatus > 0 ? [`${byStatus} have left by their status`] : []),
    ...(reused > 0 ? [`${reused} stock numbers now have another VIN`] : []),
  ]
  const named = names.join(', ') + (left > names.length ? ', …' : '')
  const would = `would remove ${left} of the ${onHand} vehicles in stock at ${rooftop.name} (${parts.join(', ')}): ${named}`
  return { is: 'removal', count: left, would }
}

/** Values that do not change: one may be corrected, but not most at once. */
const fixedColumns = ['make', 'model', 'model_year', 'acquired_on', 'currency_code'] as const
/** Values that most vehicles do not lose at once. */
const watched = {
  make: 'make',
  model: 'model',
  model_year: 'year',
  vin: 'VIN',
  odometer_km: 'odometer',
  asking_price: 'asking price',
  cost: 'cost',
  acquired_on: 'date in stock',
  currency_code: 'currency',
} as const

/** Fewer changes are corrections by hand. */
const minChanges = 3

/** How many known vehicles change a column by far, or lose its value. */
interface LargeChange {
  readonly name: keyof typeof watched
  readonly count: number
  readonly lost: number
  readonly example: string
  /** The first with another value. */
  readonly first: readonly string[] | null
}

interface MassChange extends LargeChange {
  readonly had: number
}

/** The large changes of known vehicles, by column. */
export async function findLargeChanges(
  { db }: Staging,
  { updated, reappeared }: Diff,
): Promise<readonly LargeChange[]> {
  if (updated + reappeared === 0) return []
  return (await changedQuery(Object.keys(watched)).execute(db)).rows
}

/** What of a known vehicle hardly changes so much. */
const notable: Partial<Record<keyof typeof watched, string>> = {
  odometer_km: 'an odometer that is lower than before',
  asking_price: 'an asking price of three times the one before, or a third',
  cost: 'a cost of three times the one before, or a third',
}

/** Warnings about large changes of a few vehicles. */
export function changeWarnings(changes: readonly LargeChange[]): CellIssue[] {
  return changes.flatMap(({ name, count, lost, first }) => {
    const what = notable[name]
    if (what === undefined || first === null) return []
    const more = count - lost > first.length ? ', …' : ''
    const hint = `${plural(count - lost, 'known vehicle')} with ${what}: ${first.join(', ')}${more}`
    const issue = { code: 'LARGE_CHANGE', severity: 'warning', line: null, column: null } as const
    return [{ ...issue, text: '', hint }]
  })
}

/**
 * A refusal if the list would change lasting values of most vehicles, or remove a value from most. That is
 * usually a moved or emptied column, not a correction. Fields that the user maps in this command are not checked.
 */
export async function guardChanges(
  { db, rooftopId }: Staging,
  request: ImportRequest,
  {
    mapping,
    rows,
    diff,
    changes,
  }: {
    readonly mapping: Mapping
    readonly rows: RowCounts
    readonly diff: Diff
    readonly changes: readonly LargeChange[]
  },
): Promise<Refusal | null> {
  if (request.allowMassChange || diff.updated + diff.reappeared < minChanges) return null
  const mapped = mapping.columns.filter(({ source }) => source === 'override')
  const mappedColumns = mapped.map(
    ({ field }) => (stockColumns as Record<string, string>)[field ?? ''],
  )
  const many = changes.filter(
    ({ name, count }) => count >= minChanges && !mappedColumns.includes(name),
  )
  if (many.length === 0) return null
  const { rows: had } = await sql<Record<string, number>>`
    select ${sql.raw(many.map(({ name }) => `count(unit.${name})::int as ${name}`).join(', '))}
    from stock_stage as stage left join stock_renumbered as renumbered using (stock_no)
    join core.stock_unit as unit on unit.stock_no = coalesce(renumbered.old_stock_no, stage.stock_no)
    where unit.rooftop_id = ${rooftopId} and not stage.is_rejected`.execute(db)
  const mass = many
    .map((change) => ({ ...change, had: had[0]![change.name]! }))
    .filter(({ count, had }) => count > had / 2)
  return mass.length === 0 ? null : massChange(request, mass, rows.accepted - diff.added)
}

// An odometer does not decrease: a tenth less may be a correction or rounding. An amount that becomes three
// times as much, or a third, has another scale: cents, thousands, a monthly rate. A currency
// without an amount is ignored.
const changedQuery = (names: readonly string[]) => sql<LargeChange>`
with pair as (
  select diff.stock_no, change.key as name, regexp_replace(change.value ->> 0, '[.]000$', '') as old, change.value ->> 1 as new
  from stock_diff as diff, jsonb_each(diff.changes) as change
  where not diff.is_reused and change.key = any (${names}::text[]) and change.value ->> 0 is not null
    and (change.key <> 'currency_code' or diff.changes -> 'asking_price' ->> 0 is not null or not diff.changes ? 'asking_price')
)
select name, count(*)::int as count, count(*) filter (where new is null)::int as lost,
  min(stock_no || ': ' || old || ' → ' || coalesce(new, 'none')) as example,
  (array_agg(stock_no || ': ' || old || ' → ' || regexp_replace(new, '[.]000$', '') order by stock_no) filter (where new is not null))[:${sql.lit(namedExamples)}] as first
from pair
where case when new is null then name <> 'currency_code' when name = any (${fixedColumns}::text[]) then lower(new) <> lower(old)
  when name = 'odometer_km' then new::numeric < old::numeric * 0.9
  when name in ('asking_price', 'cost') then old::numeric > 0 and new::numeric not between old::numeric / 3 and old::numeric * 3
  else false end
group by name order by array_position(${names}::text[], name)`

function massChange(
  { rooftop }: ImportRequest,
  mass: readonly MassChange[],
  known: number,
): GuardRefusal {
  const parts = mass.map(({ name, count, lost, had, example }) => {
    const what = lost === count ? 'remove' : name === 'odometer_km' ? 'reduce' : 'change'
    return `${what} the ${watched[name]} of ${count} of ${had} (${example})`
  })
  const would = `would ${parts.join(', ')}, of ${known} known vehicles at ${rooftop.name}`
  const count = Math.max(...mass.map((change) => change.count))
  return { is: 'change', count, would }
}

/**
 * Asks about odometers that hardly a vehicle has: EarlyRefusal unless the user mapped the column in this command, or the warehouse has
 * such a reading of the same vehicle, which a person confirmed before.
 */
export async function guardOdometers(
  { db, tables, rooftopId, importId }: Staging,
  mapping: Mapping,
): Promise<void> {
  const column = mapping.columns.find(({ field }) => field === 'odometer')
  if (column === undefined || column.source === 'override') return
  const { rows } = await sql<{ stock_no: string; reading: string; count: number }>`
    with doubted as (
      select stock_no, odometer_km, extras from ${sql.table(tables.units)}
      where rooftop_id = ${rooftopId} and import_id = ${importId} and odometer_km > ${maxKm}
      union all
      select stage.stock_no, stage.odometer_km, stage.extras from pg_temp.stock_stage as stage
      where not is_rejected and odometer_km > ${maxKm} and not exists (
        select from core.stock_unit as unit
        where unit.rooftop_id = ${rooftopId} and unit.stock_no = stage.stock_no and unit.import_id <> ${importId}
          and unit.odometer_km > ${maxKm})
    )
    select stock_no, concat_ws(' ', extras ->> 'odometer', extras ->> 'odometer_unit') as reading, count(*) over ()::int as count
    from doubted order by odometer_km desc limit ${namedExamples}`.execute(db)
  if (rows.length === 0) return
  const { count } = rows[0]!
  const examples = rows.map(({ stock_no, reading }) => `${stock_no}: ${reading}`).join(', ')
  const message = `${count} ${count === 1 ? 'vehicle has' : 'vehicles have'} an odometer above 1,000,000 km (${examples}). Correct them in the list, or confirm that the readings are right.`
  const maps = [`odometer=${columnName(column, mapping.columns)}`]
  const questions = [{ code: 'ODOMETER_DOUBTED', message, maps } as const]
  assertSure({ ...mapping, status: 'unsure', questions })
}

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

interface Found {
  /** `name (uid)` of the rooftop. */
  readonly name: string
  /** Vehicles that have the same VIN. */
  readonly byVin: number
  /** Also those with the same stock number where one of the two lists has no VIN. */
  readonly all: number
  readonly first: readonly string[]
}

/**
 * Warnings for new vehicles of the list that are in stock at another rooftop of the config. They have moved,
 * or it is the list of that rooftop; the removal guard does not notice this if few vehicles would leave.
 */
export async function otherRooftopWarnings(
  { db, tables, rooftopId, importId }: Staging,
  rooftops: readonly RooftopConfig[],
  rooftop: RooftopConfig,
  accepted: number,
): Promise<readonly CellIssue[]> {
  const others = rooftops.map(({ uid }) => uid).filter((uid) => uid !== rooftop.uid)
  if (others.length === 0) return []
  const { rows } = await sql<{ rooftop_id: number; name: string }>`
    select rooftop_id, format('%s (%s)', rooftop_name, rooftop_uid) as name from core.rooftop as rooftop
    where rooftop_uid = any (${others}::text[])
      and exists (select from core.stock_unit as unit where unit.rooftop_id = rooftop.rooftop_id offset 0)
    order by rooftop_name, rooftop_id`.execute(db)
  if (rows.length === 0) return []
  await sql`
    create temp table stock_arrived (stock_no varchar(80), vin varchar(40)) on commit drop`.execute(
    db,
  )
  const { numAffectedRows } = await arrivedQuery(tables.units, rooftopId, importId).execute(db)
  if (numAffectedRows === 0n) return []
  const warnings: CellIssue[] = []
  for (const { rooftop_id, name } of rows) {
    const { rows: found } = await foundQuery(rooftop_id).execute(db)
    const warning = otherRooftopWarning({ ...found[0]!, name }, accepted)
    if (warning) warnings.push(warning)
  }
  return warnings
}

const arrivedQuery = (units: string, rooftopId: number, importId: number) => sql`
insert into stock_arrived
select stock_no, vin from ${sql.table(units)} where rooftop_id = ${rooftopId} and import_id = ${importId}
union all select stage.stock_no, stage.vin from stock_diff as diff join stock_stage as stage using (line_no)
where diff.change <> 'updated' and not stage.is_rejected`

// Two rooftops may use the same stock number, so it counts only if a VIN is missing.
const foundQuery = (rooftopId: number) => sql<Omit<Found, 'name'>>`
with arrived as (
  select stock_no, vin from stock_arrived
), other as (
  select stock_no, vin from core.stock_unit
  where rooftop_id = ${rooftopId} and missing_since is null and off_stock_at is null
), found as (
  select arrived.stock_no, true as is_vin from arrived where vin in (select vin from other)
  union all select arrived.stock_no, false from arrived join other using (stock_no)
  where arrived.vin is null or other.vin is null
)
select count(*) filter (where is_vin)::int as "byVin", count(distinct stock_no)::int as all,
  (select coalesce(array_agg(stock_no), '{}') from (select distinct stock_no from found order by stock_no limit ${namedExamples}) as few) as first
from found`

function otherRooftopWarning(
  { name, byVin, all, first }: Found,
  accepted: number,
): CellIssue | null {
  const isMost = all > 5 && all > accepted / 2
  const count = isMost ? all : byVin
  if (count === 0) return null
  const names = first.join(', ') + (count > first.length ? ', …' : '')
  const question = isMost ? `is it the list of that rooftop? First of them: ${names}` : names
  const hint = `${count} of the ${accepted} vehicles are in stock at ${name}: ${question}`
  const code = 'in-stock-elsewhere'
  const advice = 'if so, import the right list with --allow-mass-removal'
  return {
    code,
    severity: 'warning',
    line: null,
    column: null,
    text: '',
    hint,
    ...(isMost && { advice }),
  }
}
