import { sql } from 'kysely'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import type { GuardRefusal } from '../refusal-kinds.ts'
import {
  type ColumnFigures,
  type FigureColumn,
  type Figures,
  type ImportRequest,
  todayAt,
} from './request.ts'
import type { Staging } from './stage.ts'

type AmountColumn = 'asking_price' | 'cost'

const amounts: ReadonlySet<AmountColumn> = new Set(['asking_price', 'cost'])

function isAmount(column: FigureColumn): column is AmountColumn {
  return column === 'asking_price' || column === 'cost'
}

/** The number columns of a list, and what people call them. */
export const figureNames = {
  model_year: 'year',
  odometer_km: 'odometer',
  asking_price: 'asking price',
  cost: 'cost',
} as const satisfies Record<FigureColumn, string>
const columns = Object.keys(figureNames) as FigureColumn[]

/** The figures of each number column that the list, or the stock, has a value of, and warnings about amounts that are far from the median. */
export async function readFigures(
  staging: Staging,
  { rooftop }: ImportRequest,
): Promise<{
  readonly figures: readonly ColumnFigures[]
  readonly warnings: readonly CellIssue[]
}> {
  const { rows } = await figuresQuery(staging, rooftop.currency).execute(staging.db)
  const [list, stock] = ['list', 'stock'].map((side) => rows.find((row) => row.side === side))
  if (list === undefined) return { figures: [], warnings: [] }
  const figures = columns.flatMap((column) => {
    if (list[column].median === null && (stock?.[column].median ?? null) === null) return []
    const currency = isAmount(column) ? list.currency : null
    return [{ column, currency, list: list[column], stock: stock?.[column] ?? null }]
  })
  const far = [...amounts].flatMap((column) => outlierWarning(column, list))
  return { figures, warnings: [...far, ...costWarning(list)] }
}

/**
 * A warning about vehicles whose amount is far from those of the list: 1 or 999999 for a price that is not known yet, 24.99 for 24,990. The
 * median of the list does not show them.
 */
function outlierWarning(column: AmountColumn, list: SideFigures): CellIssue[] {
  const { count, first } = list[`${column}_outliers`]
  if (count === 0 || filledCells(list[column]) < minCars) return []
  const more = count > first!.length ? `, and ${count - first!.length} more` : ''
  return [
    {
      ...({ code: 'FAR_FROM_MEDIAN', severity: 'warning', line: null, column: null } as const),
      text: '',
      hint: `the median ${figureNames[column]} is ${list[column].median} ${list.currency}; far from it: ${first!.join(', ')}${more}`,
    },
  ]
}

/** A warning where most cars cost more than they are offered for: the columns, or their headers, are probably exchanged. */
function costWarning({ below_cost: below, with_both: both }: SideFigures): CellIssue[] {
  if (below < minCars || below * 2 <= both) return []
  const hint = `the asking price of ${below} of ${both} cars is below their cost: are the two columns exchanged?`
  return [{ code: 'BELOW_COST', severity: 'warning', line: null, column: null, text: '', hint }]
}

/** Of all columns. Amounts are compared where they have the currency of most cars. */
const columnFigures = sql.raw(
  columns
    .map((name) => {
      const compared = isAmount(name) ? ' filter (where currency_code = market.currency)' : ''
      return `json_build_object('cars', count(*), 'empty', count(*) - count(${name}), 'minimum', min(${name})${compared},
      'median', percentile_disc(0.5) within group (order by ${name})${compared}, 'maximum', max(${name})${compared}) as ${name}`
    })
    .join(', '),
)

const costs = sql.raw(
  'count(*) filter (where asking_price < cost)::int as below_cost, count(*) filter (where asking_price is not null and cost is not null)::int as with_both',
)

const cells = sql.raw(columns.join(', '))

type SideFigures = {
  side: string
  currency: string
  below_cost: number
  with_both: number
} & Record<FigureColumn, Figures> &
  Record<`${AmountColumn}_outliers`, { count: number; first: string[] | null }>

/** Amounts of a twentieth or ten times the median are named: dear cars are rarer than cheap ones. */
const [below, above, namedOutliers] = [20, 10, 5]

const outliers = sql.raw(
  [...amounts]
    .map(
      (name) => `(
    select json_build_object('count', count(*), 'first', (array_agg(stock_no || ': ' || trim_scale(${name}) order by stock_no))[:${namedOutliers}])
    from list where figures.side = 'list' and currency_code = figures.currency
      and not ${name} between (figures.${name} ->> 'median')::numeric / ${below} and (figures.${name} ->> 'median')::numeric * ${above}
  ) as ${name}_outliers`,
    )
    .join(', '),
)

// Each column is sorted by itself: a row for each cell, sorted by side and column, took three times as long.
const figuresQuery = (
  { tables, rooftopId, importId }: Staging,
  currency: string | null,
) => sql<SideFigures>`
with list as (
  select stock_no, ${cells}, currency_code from ${sql.table(tables.units)} where rooftop_id = ${rooftopId} and import_id = ${importId}
  union all select stock_no, ${cells}, currency_code from stock_stage where not is_rejected
), stock as (
  select ${cells}, currency_code from core.stock_unit
  where rooftop_id = ${rooftopId} and import_id <> ${importId} and missing_since is null and off_stock_at is null
), market as (
  select coalesce((
    select currency_code from list where currency_code is not null group by currency_code order by count(*) desc, currency_code limit 1), ${currency}) as currency
), figures as (
  select 'list' as side, max(market.currency) as currency, ${costs}, ${columnFigures} from list cross join market having count(*) > 0
  union all select 'stock', max(market.currency), ${costs}, ${columnFigures} from stock cross join market having count(*) > 0
)
select figures.*, ${outliers} from figures`

/** A median of fewer cars says little. */
const minCars = 3
/** Amounts that move by more have another scale: thousands, cents, a monthly rate. */
const maxFactor = 3
/** Odometers of new cars differ by large factors. */
const leastKilometres = 10_000
const maxYears = 8

/** A refusal if a median is far from that of the stock on hand; of a first list, from what cars for sale have. That is
 *  usually another column, unit or currency, or a number that a program read wrongly. */
export function guardValues(
  figures: readonly ColumnFigures[],
  request: ImportRequest,
): GuardRefusal | null {
  if (request.allowUnusualValues === true) return null
  const year = Number(todayAt(request).slice(0, 4))
  const unusual = figures
    .filter(({ list }) => filledCells(list) >= minCars)
    .flatMap((column) => {
      const usual = findUnusual(column, figures, year, request)
      return usual === null ? [] : [{ column, usual }]
    })
  if (unusual.length === 0) return null
  const parts = unusual.map(({ column: { column, currency, list }, usual }) => {
    const unit = column === 'odometer_km' ? ' km' : currency === null ? '' : ` ${currency}`
    return `a median ${figureNames[column]} of ${list.median}${unit} (from ${list.minimum} to ${list.maximum}), where ${usual}`
  })
  const would = `has ${parts.join('; ')}, at ${request.rooftop.name}`
  const count = Math.max(...unusual.map(({ column }) => filledCells(column.list)))
  return { is: 'values', count, would }
}

function filledCells({ cars, empty }: Figures): number {
  return cars - empty
}

/** What was expected instead of the median, in words; null: it is usual. */
function findUnusual(
  { column, currency, list, stock }: ColumnFigures,
  figures: readonly ColumnFigures[],
  year: number,
  { allowMassChange }: ImportRequest,
): string | null {
  const median = list.median
  if (median === null) return null
  // Who confirms that most of the stock changes has confirmed this too.
  if (stock !== null && stock.median !== null && filledCells(stock) >= minCars)
    return isFar(column, median, stock.median) && allowMassChange !== true
      ? `the stock has ${stock.median}`
      : null
  const [least, most] = plausible(column, currency, figures, year)
  return median < least || median > most ? `cars for sale have ${least} to ${most}` : null
}

function isFar(column: FigureColumn, median: number, before: number): boolean {
  const difference = Math.abs(median - before)
  if (column === 'model_year') return difference > maxYears
  if (column === 'odometer_km' && difference < leastKilometres) return false
  return Math.max(median, before) > maxFactor * Math.min(median, before)
}

/** Medians of the trade, as wide as they can be: a dealer of cheap cars and one of sports cars are both within. */
function plausible(
  column: FigureColumn,
  currency: string | null,
  figures: readonly ColumnFigures[],
  year: number,
): readonly [least: number, most: number] {
  if (column === 'model_year') return [year - 30, year + 1]
  if (column === 'odometer_km') {
    const figuresOf = (name: FigureColumn) => figures.find((one) => one.column === name)?.list
    const modelYear = figuresOf('model_year')?.median ?? year
    // Of used cars, at least one has more.
    const isInThousands = modelYear < year - 2 && (figuresOf(column)?.maximum ?? 0) < 1_000
    return [isInThousands ? 500 : 0, 400_000]
  }
  const rate = perDollar[currency ?? '']
  if (rate === undefined) return [0, Number.POSITIVE_INFINITY]
  return [(column === 'cost' ? 250 : 500) * rate, 300_000 * rate]
}

/** About how much of a currency a US dollar is: only orders of magnitude count. */
const perDollar: Readonly<Record<string, number>> = {
  ...{ USD: 1, EUR: 1, GBP: 0.8, CHF: 1, CAD: 1.4, AUD: 1.5, NZD: 1.6, SGD: 1.4 },
  ...{ AED: 3.7, SAR: 3.7, QAR: 3.7, KWD: 0.3, BHD: 0.4, OMR: 0.4, JOD: 0.7 },
  ...{ SEK: 10, NOK: 10, DKK: 7, PLN: 4, CZK: 23, ZAR: 18, THB: 35, INR: 85, JPY: 150 },
}
