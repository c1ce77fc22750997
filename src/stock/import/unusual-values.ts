import { sql } from 'kysely'
import type { GuardRefusal } from '../refusal-kinds.ts'
import {
  type ColumnFigures,
  type FigureColumn,
  type Figures,
  type ImportRequest,
  todayAt,
} from './request.ts'
import type { Staging } from './stage.ts'

const amounts: ReadonlySet<FigureColumn> = new Set(['asking_price', 'cost'])

/** The number columns of a list, and what people call them. */
export const figureNames = {
  model_year: 'year',
  odometer_km: 'odometer',
  asking_price: 'asking price',
  cost: 'cost',
} as const satisfies Record<FigureColumn, string>
const columns = Object.keys(figureNames) as FigureColumn[]

/** The figures of each number column that the list, or the stock, has a value of. */
export async function readFigures(
  staging: Staging,
  { rooftop }: ImportRequest,
): Promise<readonly ColumnFigures[]> {
  const { rows } = await figuresQuery(staging, rooftop.currency).execute(staging.db)
  const [list, stock] = ['list', 'stock'].map((side) => rows.find((row) => row.side === side))
  if (list === undefined) return []
  return columns.flatMap((column) => {
    if (list[column].median === null && (stock?.[column].median ?? null) === null) return []
    const currency = amounts.has(column) ? list.currency : null
    return [{ column, currency, list: list[column], stock: stock?.[column] ?? null }]
  })
}

/** Of all columns. Amounts are compared where they have the currency of most cars. */
const columnFigures = sql.raw(
  columns
    .map((name) => {
      const compared = amounts.has(name) ? ' filter (where currency_code = market.currency)' : ''
      return `json_build_object('cars', count(*), 'empty', count(*) - count(${name}), 'minimum', min(${name})${compared},
      'median', percentile_disc(0.5) within group (order by ${name})${compared}, 'maximum', max(${name})${compared}) as ${name}`
    })
    .join(', '),
)

const cells = sql.raw(columns.join(', '))

type SideFigures = { side: string; currency: string } & Record<FigureColumn, Figures>

// Each column is sorted by itself: a row for each cell, sorted by side and column, took three times as long.
const figuresQuery = (
  { tables, rooftopId, importId }: Staging,
  currency: string | null,
) => sql<SideFigures>`
with list as (
  select ${cells}, currency_code from ${sql.table(tables.units)} where rooftop_id = ${rooftopId} and import_id = ${importId}
  union all select ${cells}, currency_code from stock_stage where not is_rejected
), stock as (
  select ${cells}, currency_code from core.stock_unit
  where rooftop_id = ${rooftopId} and import_id <> ${importId} and missing_since is null and off_stock_at is null
), market as (
  select coalesce((
    select currency_code from list where currency_code is not null group by currency_code order by count(*) desc, currency_code limit 1), ${currency}) as currency
)
select 'list' as side, max(market.currency) as currency, ${columnFigures} from list cross join market having count(*) > 0
union all select 'stock', max(market.currency), ${columnFigures} from stock cross join market having count(*) > 0`

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
