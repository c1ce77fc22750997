import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import { contentHash } from '../../values/content-hash.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type ObservationTable, observeAll } from '../observation.ts'
import type { BatchAnswer, BatchLoaded } from '../batch-stream.ts'
import type { RecordWarning } from '../record.ts'
import type { StockPriceRecord } from './normalise.ts'

const stockPrices: ObservationTable = {
  table: 'core.stock_price_observation',
  key: 'stock_no',
  keyType: 'text',
  source: 'price_batch',
}

type Answer = BatchAnswer<StockPriceRecord>

/**
 * Appends what says something new of a unit, and confirms the rest. Another vehicle under the same stock number makes it another
 * observation, at the same prices too, and is `inserted`: it was never priced before.
 */
export async function observeStockPrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Answer[],
  runId: number,
): Promise<BatchLoaded[]> {
  const given = await givenAway(db, rooftop, answers)
  const observations = answers.map((answer) => observationOf(answer, rooftop))
  const seen = await observeAll(db, rooftop, stockPrices, observations, runId)
  return seen.map(({ key, outcome, record }) => ({
    outcome: given.has(key) ? 'inserted' : outcome,
    priced: record.error === null ? 'priced' : 'failed',
    warnings: currencyWarnings(record, rooftop),
  }))
}

function observationOf({ unit, record, at }: Answer, rooftop: RooftopRow) {
  const { prices, error } = record
  const currency = record.currency ?? rooftop.currency
  return {
    key: unit.stockNo,
    at,
    valueHash: contentHash([Object.values(prices), currency, error, unit.vin]),
    columns: { vin: unit.vin, ...prices, currency_code: currency, error },
    record,
  }
}

/** Stock numbers of which the current observation is another vehicle's. */
async function givenAway(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Answer[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ stockNo: string }>`
    select price.stock_no as "stockNo"
    from core.stock_price_observation as price
    join unnest(${answers.map(({ unit }) => unit.stockNo)}::text[], ${answers.map(({ unit }) => unit.vin)}::text[]) as asked (stock_no, vin)
      on asked.stock_no = price.stock_no
    where price.rooftop_id = ${rooftop.id} and price.price_source = ${stockPrices.source} and price.is_current
      and price.vin is distinct from asked.vin`.execute(db)
  return new Set(rows.map(({ stockNo }) => stockNo))
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
