import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import { contentHash } from '../../values/content-hash.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type ObservationTable, observeAll } from '../observation.ts'
import type { BatchAnswer, BatchLoaded } from './batch.ts'
import type { RecordWarning } from '../../values/record.ts'
import { decoderOf } from './vin-lookups.ts'
import type { StockPriceRecord } from './normalise.ts'

const stockPrices: ObservationTable = {
  table: 'core.stock_price_observation',
  key: 'stock_no',
  keyType: 'text',
  source: 'price_batch',
}

type Answer = BatchAnswer

/**
 * Appends new prices of units and confirms unchanged ones. Another vehicle under the same stock number makes a new observation,
 * even at the same prices, and counts as `inserted`: it was never priced before.
 */
export async function observeStockPrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Answer[],
  runId: number,
): Promise<BatchLoaded[]> {
  const reused = await reusedStockNumbers(db, rooftop, answers)
  const others = await otherModels(db, rooftop, answers)
  const observations = answers.map((answer) => observationOf(answer, rooftop))
  const seen = await observeAll(db, rooftop, stockPrices, observations, runId)
  return seen.map(({ key, outcome, record }) => ({
    outcome: reused.has(key) ? 'inserted' : outcome,
    priced: record.error === null ? 'priced' : 'failed',
    warnings: [...currencyWarnings(record, rooftop), ...(others.get(key) ?? [])],
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

/** Stock numbers whose current observation is another vehicle's. */
async function reusedStockNumbers(
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

/** Warnings for units that were priced by their decoded VIN, and that the list calls another vehicle. */
async function otherModels(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly Answer[],
): Promise<ReadonlyMap<string, readonly RecordWarning[]>> {
  const { rows } = await sql<OtherModel>`
    select unit.stock_no as "stockNo", unit.make as "listMake", unit.model as "listModel", known.make, known.model
    from core.stock_unit as unit
    join core.vehicle_decode as known on known.vin = unit.vin::char(17) and known.operation = ${decoderOf(rooftop)}
    where unit.rooftop_id = ${rooftop.id} and unit.stock_no = any(${answers.map(({ unit }) => unit.stockNo)}::text[])
      and unit.adcode is null and length(unit.vin) = 17`.execute(db)
  return new Map(
    rows.filter(isOther).map((row) => {
      const listed = [row.listMake, row.listModel].filter(Boolean).join(' ')
      const decoded = [row.make, row.model].filter(Boolean).join(' ')
      const detail = `the VIN decodes to ${decoded}, the list says ${listed}: check the VIN, the prices are those of ${decoded}`
      return [row.stockNo, [{ check: 'vin-of-another-model', detail }]]
    }),
  )
}

interface OtherModel {
  readonly stockNo: string
  readonly listMake: string | null
  readonly listModel: string | null
  readonly make: string | null
  readonly model: string | null
}

function isOther({ listMake, listModel, make, model }: OtherModel): boolean {
  return !isAlike(listMake, make) || !isAlike(listModel, model)
}

/** Whether one contains the other, as "HiLux SR5" and "Hilux" do; a missing name fits every other. */
function isAlike(one: string | null, other: string | null): boolean {
  const [a, b] = [one, other].map((name) =>
    (name ?? '').toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, ''),
  )
  return a!.includes(b!) || b!.includes(a!)
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
        detail: `"${strangeCurrency}" is not a currency code: the prices are stored as ${rooftop.currency}, the rooftop's`,
      },
    ]
  if (currency === null || currency === rooftop.currency) return []
  return [{ check, detail: `priced in ${currency}, the rooftop's currency is ${rooftop.currency}` }]
}
