import { sql } from 'kysely'
import type { Mapping } from '../csv/map/column-mapping.ts'
import { stockColumns } from '../csv/map/stock-fields.ts'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import type { GuardRefusal, Refusal } from '../refusal-kinds.ts'
import type { Diff } from './diff.ts'
import type { ImportRequest, RowCounts } from './request.ts'
import type { Staging } from './stage.ts'

const namedUnits = 10
const shownIssues = 5

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
  const errors = issues.filter(({ severity }) => severity === 'error').slice(0, shownIssues)
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

interface MassChange {
  readonly name: keyof typeof watched
  readonly count: number
  readonly lost: number
  readonly had: number
  readonly example: string
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
  }: { readonly mapping: Mapping; readonly rows: RowCounts; readonly diff: Diff },
): Promise<Refusal | null> {
  if (request.allowMassChange || diff.updated + diff.reappeared < minChanges) return null
  const mapped = mapping.columns.filter(({ source }) => source === 'override')
  const mappedColumns = mapped.map(
    ({ field }) => (stockColumns as Record<string, string>)[field ?? ''],
  )
  const names = Object.keys(watched).filter((name) => !mappedColumns.includes(name))
  const { rows: changed } = await changedQuery(names).execute(db)
  const many = changed.filter(({ count }) => count >= minChanges)
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
const changedQuery = (names: readonly string[]) => sql<Omit<MassChange, 'had'>>`
with pair as (
  select diff.stock_no, change.key as name, regexp_replace(change.value ->> 0, '[.]000$', '') as old, change.value ->> 1 as new
  from stock_diff as diff, jsonb_each(diff.changes) as change
  where not diff.is_reused and change.key = any (${names}::text[]) and change.value ->> 0 is not null
    and (change.key <> 'currency_code' or diff.changes -> 'asking_price' ->> 0 is not null or not diff.changes ? 'asking_price')
)
select name, count(*)::int as count, count(*) filter (where new is null)::int as lost,
  min(stock_no || ': ' || old || ' → ' || coalesce(new, 'none')) as example
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
