import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import { contentHash } from '../../values/content-hash.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { observationOf, type Standing } from '../observation.ts'
import type { BatchAnswer, BatchLoaded, LoadOutcome, RecordWarning } from '../stream.ts'
import type { StockPriceRecord } from './normalise.ts'

export const stockPriceSource = 'price_batch'

type Answer = BatchAnswer<StockPriceRecord>

interface Observed extends Answer {
  readonly outcome: LoadOutcome
  readonly observedAt: Date
  readonly currency: string
  readonly valueHash: Buffer
}

/** Rows to an insert: Postgres takes 65,535 parameters. */
const rowsAtOnce = 1000

/** Appends what says something new of a unit, and confirms the rest. Exactly one observation of a unit stays current. */
export async function observeStockPrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Answer[],
  runId: number,
): Promise<BatchLoaded[]> {
  if (answers.length === 0) return []
  const stored = await currentOf(db, rooftop, answers)
  const seen = answers.map((answer) => observe(answer, rooftop, stored.get(answer.unit.stockNo)))
  await supersede(
    db,
    rooftop,
    seen.filter(({ outcome }) => outcome === 'updated'),
  )
  await append(
    db,
    rooftop,
    seen.filter(({ outcome }) => outcome !== 'unchanged'),
    runId,
  )
  await confirm(
    db,
    rooftop,
    seen.filter(({ outcome }) => outcome === 'unchanged'),
  )
  return seen.map(({ outcome, record }) => ({
    outcome,
    priced: record.error === null ? 'priced' : 'failed',
    warnings: currencyWarnings(record, rooftop),
  }))
}

/** Another vehicle under the same stock number makes it another observation, at the same prices too. */
function observe(answer: Answer, rooftop: RooftopRow, current: Standing | undefined): Observed {
  const { prices, error } = answer.record
  const currency = answer.record.currency ?? rooftop.currency
  const valueHash = contentHash([Object.values(prices), currency, error, answer.unit.vin])
  return { ...answer, ...observationOf(answer.at, valueHash, current), currency, valueHash }
}

function currencyWarnings(
  { currency, strangeCurrency }: StockPriceRecord,
  rooftop: RooftopRow,
): RecordWarning[] {
  const check = 'currency-disagrees'
  if (strangeCurrency !== null)
    return [
      {
        check,
        detail: `"${strangeCurrency}" is no currency code: the prices are kept as ${rooftop.currency}, the rooftop's`,
      },
    ]
  if (currency === null || currency === rooftop.currency) return []
  return [{ check, detail: `priced in ${currency}, the rooftop's currency is ${rooftop.currency}` }]
}

async function currentOf(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Answer[],
): Promise<Map<string, Standing>> {
  const { rows } = await sql<Standing & { stockNo: string }>`
    select stock_no as "stockNo", observed_at as "observedAt", last_confirmed_at as "confirmedAt", value_hash as "valueHash"
    from core.stock_price_observation
    where rooftop_id = ${rooftop.id} and price_source = ${stockPriceSource} and is_current
      and stock_no = any(${stockNumbers(answers)}::text[])`.execute(db)
  return new Map(rows.map((row) => [row.stockNo, row]))
}

async function supersede(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  changed: readonly Observed[],
): Promise<void> {
  if (changed.length === 0) return
  await sql`
    update core.stock_price_observation set is_current = false
    where rooftop_id = ${rooftop.id} and price_source = ${stockPriceSource} and is_current
      and stock_no = any(${stockNumbers(changed)}::text[])`.execute(db)
}

async function append(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  fresh: readonly Observed[],
  runId: number,
): Promise<void> {
  const rows = fresh.map(({ unit, observedAt, record, currency, valueHash }) => ({
    rooftop_id: rooftop.id,
    stock_no: unit.stockNo,
    price_source: stockPriceSource,
    observed_at: observedAt,
    last_confirmed_at: observedAt,
    is_current: true,
    vin: unit.vin,
    ...record.prices,
    currency_code: currency,
    error: record.error,
    value_hash: valueHash,
    run_id: runId,
  }))
  for (let from = 0; from < rows.length; from += rowsAtOnce)
    await db
      .insertInto('core.stock_price_observation')
      .values(rows.slice(from, from + rowsAtOnce))
      .execute()
}

async function confirm(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  same: readonly Observed[],
): Promise<void> {
  if (same.length === 0) return
  await sql`
    update core.stock_price_observation as price
    set last_confirmed_at = greatest(price.last_confirmed_at, answer.at)
    from unnest(${stockNumbers(same)}::text[], ${same.map(({ at }) => at)}::timestamptz[]) as answer (stock_no, at)
    where price.rooftop_id = ${rooftop.id} and price.price_source = ${stockPriceSource} and price.is_current
      and price.stock_no = answer.stock_no`.execute(db)
}

function stockNumbers(answers: readonly Answer[]): string[] {
  return answers.map(({ unit }) => unit.stockNo)
}
