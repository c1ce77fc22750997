import { type Kysely, sql } from 'kysely'
import { pollPriceBatch, submitPriceBatch } from '../../api/contract/vehicle-data/prices.ts'
import {
  type Derivation,
  type DeriveOptions,
  readPayloads,
} from '../../sync/records/payload-rows.ts'
import { contentHash } from '../../values/content-hash.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { RecordWarning } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { deriveObservations, type ObservationTable, observeAll } from '../observation.ts'
import {
  type BatchAnswer,
  type BatchLoaded,
  type BatchUnit,
  matchResults,
  normaliseResults,
} from './batch.ts'
import type { StockPriceRecord } from './normalise.ts'
import { findDecoder } from './vin-lookups.ts'

const stockPrices: ObservationTable = {
  table: 'core.stock_price_observation',
  key: 'stock_no',
  keyType: 'text',
  source: 'price_batch',
  confirmed: ['last_confirmed_at'],
}

/**
 * Appends new prices of units and confirms unchanged ones. Another vehicle under the same stock number makes a new observation,
 * even at the same prices, and counts as `inserted`: it was never priced before.
 */
export async function observeStockPrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly BatchAnswer[],
  runId: number,
): Promise<BatchLoaded[]> {
  const others = await otherModels(db, rooftop, answers)
  const observations = answers.map((answer) => stockObservation(answer, rooftop, runId))
  const observed = await observeAll(db, rooftop, stockPrices, observations)
  return observed.map(({ key, outcome, record, before, row }) => ({
    outcome: before !== null && before['vin'] !== row['vin'] ? 'inserted' : outcome,
    priced: record.error === null ? 'priced' : 'failed',
    warnings: [...currencyWarnings(record, rooftop), ...(others.get(key) ?? [])],
  }))
}

/** Stock numbers that were priced. Those of a renumbered unit are left out: their prices moved to the new number with it. */
export function pricedKeys(rooftopIds: readonly number[]) {
  return sql`
    select distinct batch.rooftop_id, stock_no as key
    from ops.price_batch as batch join ops.price_batch_unit as unit using (batch_no)
    where rooftop_id in (${sql.join(rooftopIds)}) and state = 'complete' and outcome in ('priced', 'failed')
      and not exists (select from ops.data_quality as warning
        where warning.rooftop_id = batch.rooftop_id and natural_key = unit.stock_no and check_name = 'cannot-be-stored')
      and not exists (select from core.stock_unit_change as change
        where change.rooftop_id = batch.rooftop_id and changes ? 'stock_no'
          and unit.stock_no in (change.stock_no, changes -> 'stock_no' ->> 0, changes -> 'stock_no' ->> 1))`
}

/** The rows that the stored results of batches make, one batch at a time. */
export async function deriveStockPrices(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  keys: readonly string[],
  { wire }: DeriveOptions,
): Promise<Derivation> {
  const { rows } = await sql<BatchUnit & { readonly batchNo: string }>`
    select batch_no::text as "batchNo", stock_no as "stockNo", vin, adcode, odometer_km as "odometerKm"
    from ops.price_batch join ops.price_batch_unit using (batch_no)
    where rooftop_id = ${rooftop.id} and state = 'complete' and outcome in ('priced', 'failed')
      and stock_no = any(${[...keys]}::text[]) order by batch_no`.execute(db)
  const observations = []
  const giveWay = eventLoopYielder()
  for (const [batchNo, units] of Map.groupBy(rows, (row) => row.batchNo)) {
    await giveWay()
    const [payload] = await readPayloads(db, rooftop, [submitPriceBatch.name], [batchNo])
    if (payload === undefined) continue
    const { results } = pollPriceBatch.read(JSON.parse(payload.text), wire)
    const { answers } = matchResults(units, normaliseResults(results ?? []))
    for (const answer of answers)
      observations.push(stockObservation({ ...answer, at: payload.readAt }, rooftop, payload.runId))
  }
  const { table } = await deriveObservations(db, rooftop, stockPrices, observations)
  return { tables: [table], unfit: [] }
}

function stockObservation({ unit, record, at }: BatchAnswer, rooftop: RooftopRow, runId: number) {
  const { prices, error } = record
  const currency = record.currency ?? rooftop.currency
  return {
    ...{ key: unit.stockNo, at, runId, record },
    valueHash: contentHash([Object.values(prices), currency, error, unit.vin]),
    columns: () => ({ vin: unit.vin, ...prices, currency_code: currency, error }),
  }
}

/** Warnings for units that were priced by their decoded VIN, and that the list calls another vehicle. */
async function otherModels(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  answers: readonly BatchAnswer[],
): Promise<ReadonlyMap<string, readonly RecordWarning[]>> {
  const { rows } = await sql<OtherModel>`
    select unit.stock_no as "stockNo", unit.make as "listMake", unit.model as "listModel", known.make, known.model
    from core.stock_unit as unit
    join core.vehicle_decode as known on known.vin = unit.vin::char(17) and known.operation = ${findDecoder(rooftop)}
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
