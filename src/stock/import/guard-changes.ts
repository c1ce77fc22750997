import type pg from 'pg'
import { UsageError } from '../../errors.ts'
import type { Diff } from './diff.ts'
import type { Mapping } from '../../csv/map/column-mapping.ts'
import { stockColumns } from '../../csv/map/stock-fields.ts'
import type { RowCounts } from './import-report.ts'
import type { ImportRequest } from './request.ts'

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
 * UsageError if the list would change lasting values of most vehicles, or remove a value from most. That is
 * usually a moved or emptied column, not a correction. Fields that the user maps in this command are not checked.
 */
export async function guardChanges(
  client: pg.ClientBase,
  rooftopId: number,
  {
    request,
    mapping,
    rows,
    diff,
  }: {
    readonly request: ImportRequest
    readonly mapping: Mapping
    readonly rows: RowCounts
    readonly diff: Diff
  },
): Promise<void> {
  if (request.allowMassChange || diff.updated + diff.reappeared < minChanges) return
  const mapped = mapping.columns.filter(({ source }) => source === 'override')
  const mappedColumns = mapped.map(
    ({ field }) => (stockColumns as Record<string, string>)[field ?? ''],
  )
  const names = Object.keys(watched).filter((name) => !mappedColumns.includes(name))
  const { rows: changed } = await client.query<Omit<MassChange, 'had'>>(changedQuery, [
    names,
    fixedColumns,
  ])
  const many = changed.filter(({ count }) => count >= minChanges)
  if (many.length === 0) return
  const { rows: had } = await client.query<Record<string, number>>(
    `select ${many.map(({ name }) => `count(unit.${name})::int as ${name}`).join(', ')}
     from stock_stage as stage left join stock_renumbered as renumbered using (stock_no)
     join core.stock_unit as unit on unit.stock_no = coalesce(renumbered.old_stock_no, stage.stock_no)
     where unit.rooftop_id = $1 and not stage.is_rejected`,
    [rooftopId],
  )
  const mass = many
    .map((change) => ({ ...change, had: had[0]![change.name]! }))
    .filter(({ count, had }) => count > had / 2)
  if (mass.length > 0) throw new UsageError(massText(request, mass, rows.accepted - diff.added))
}

// An odometer does not decrease: a tenth less may be a correction or rounding. An amount that becomes three
// times as much, or a third, has another scale: cents, thousands, a monthly rate. A currency
// without an amount is ignored.
const changedQuery = `
with pair as (
  select diff.stock_no, change.key as name, regexp_replace(change.value ->> 0, '[.]000$', '') as old, change.value ->> 1 as new
  from stock_diff as diff, jsonb_each(diff.changes) as change
  where not diff.is_reused and change.key = any ($1::text[]) and change.value ->> 0 is not null
    and (change.key <> 'currency_code' or diff.changes -> 'asking_price' ->> 0 is not null or not diff.changes ? 'asking_price')
)
select name, count(*)::int as count, count(*) filter (where new is null)::int as lost,
  min(stock_no || ': ' || old || ' → ' || coalesce(new, 'none')) as example
from pair
where case when new is null then name <> 'currency_code' when name = any ($2::text[]) then lower(new) <> lower(old)
  when name = 'odometer_km' then new::numeric < old::numeric * 0.9
  when name in ('asking_price', 'cost') then old::numeric > 0 and new::numeric not between old::numeric / 3 and old::numeric * 3
  else false end
group by name order by array_position($1::text[], name)`

function massText(
  { file, rooftop }: ImportRequest,
  mass: readonly MassChange[],
  known: number,
): string {
  const parts = mass.map(({ name, count, lost, had, example }) => {
    const what = lost === count ? 'remove' : name === 'odometer_km' ? 'reduce' : 'change'
    return `${what} the ${watched[name]} of ${count} of ${had} (${example})`
  })
  return `${file} would ${parts.join(', ')}, of ${known} known vehicles at ${rooftop.name}. Nothing was imported. Was a column moved, renamed or emptied? If so, export the list again, or name its columns with --map. --dry-run --allow-mass-change shows the changes; if they are right, add --allow-mass-change.`
}
