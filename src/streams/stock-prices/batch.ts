import { type Kysely, sql } from 'kysely'
import type { BatchPrice } from '../../api/contract/vehicle-data/prices.ts'
import type { Loaded, RecordWarning } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { normaliseStockPrice, type StockPriceRecord } from './normalise.ts'
import { findDecoder } from './vin-lookups.ts'

/** A unit on hand that a batch asks about. Its stock number is the reference of its result. */
export interface BatchUnit {
  readonly stockNo: string
  readonly vin: string | null
  readonly adcode: string | null
  readonly odometerKm: number | null
}

/** An entry of the results of a batch. */
export interface BatchResult {
  readonly reference: string | null
  readonly record: StockPriceRecord
}

/** The state of a batch, from a poll. */
export interface BatchProgress {
  /** From 0 to 100. */
  readonly percent: number
  /** In any order; null until it is complete. */
  readonly results: readonly BatchResult[] | null
  readonly text: string
  /** The source's time of the answer, where it sent one. */
  readonly at: Date | null
}

/** A result with its unit. */
export interface BatchAnswer {
  readonly unit: BatchUnit
  readonly record: StockPriceRecord
  /** The source's time of the answer. */
  readonly at: Date
}

/** What a result changed in the warehouse; `failed`: it says why there are no prices. */
export interface BatchLoaded extends Loaded {
  readonly priced: 'priced' | 'failed'
}

/** A unit that is not asked about, or the rooftop itself. */
export interface SkippedUnit extends RecordWarning {
  /** The stock number; the rooftop's uid where it is about all of them. */
  readonly naturalKey: string
}

/** The entries of a complete batch. Pure. */
export function normaliseResults(results: readonly BatchPrice[]): BatchResult[] {
  return results.map((result) => ({
    reference: result.reference,
    record: normaliseStockPrice(result),
  }))
}

/** The results of a batch, matched to its units by reference. */
export interface Matched {
  readonly answers: readonly { readonly unit: BatchUnit; readonly record: StockPriceRecord }[]
  /** Units of the batch that have no result. */
  readonly missing: readonly BatchUnit[]
  /** Units with several results. Which one is right is not known, so none is used. */
  readonly duplicate: readonly BatchUnit[]
  /** References that are not in the batch, each once; the empty text for results without a reference. */
  readonly unknown: readonly string[]
}

/** Pure. Every unit is in exactly one of the first three lists, in the order of the batch. */
export function matchResults(
  units: readonly BatchUnit[],
  results: readonly BatchResult[],
): Matched {
  const byReference = Map.groupBy(results, ({ reference }) => reference ?? '')
  const matched = units.map((unit) => ({ unit, found: byReference.get(unit.stockNo) ?? [] }))
  const stockNumbers = new Set(units.map(({ stockNo }) => stockNo))
  return {
    answers: matched.flatMap(({ unit, found }) =>
      found.length === 1 ? [{ unit, record: found[0]!.record }] : [],
    ),
    missing: matched.flatMap(({ unit, found }) => (found.length === 0 ? [unit] : [])),
    duplicate: matched.flatMap(({ unit, found }) => (found.length > 1 ? [unit] : [])),
    unknown: [...byReference.keys()].filter((reference) => !stockNumbers.has(reference)),
  }
}

/** Which units to find for a run. */
interface DueUnitsQuery {
  readonly runId: number
  /** The source's clock when the run began. */
  readonly sourceStart: Date
  readonly limit: number
  /** Also units that were answered lately, because a user asks for them now. */
  readonly again: boolean
}

/** Less than a day: a night that begins a little earlier than the last one finds everything due again. */
export const heldHours = 20

/** Units in stock with the code that they have or that their VIN was decoded to. */
function stockQuery(rooftop: RooftopRow) {
  return sql`
    select unit.stock_no, unit.vin, coalesce(unit.adcode, known.adcode) as adcode, unit.odometer_km
    from core.stock_unit as unit
    left join core.vehicle_decode as known on unit.adcode is null and length(unit.vin) = 17
      and known.vin = unit.vin::char(17) and known.operation = ${findDecoder(rooftop)}
    where unit.rooftop_id = ${rooftop.id} and unit.off_stock_at is null`
}

/** Counts the units in stock, also those that cannot be priced. */
export async function countOnHand(db: Kysely<Tables>, rooftop: RooftopRow): Promise<number> {
  const row = await db
    .selectFrom('core.stock_unit')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('rooftop_id', '=', rooftop.id)
    .where('off_stock_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/**
 * Units that can be priced and are not held back. A unit is held back:
 * - while its batch is open, and after it was asked about in this run,
 * - for 20 hours of the source's clock after its batch was lost, since the source may still work on it,
 * - for 20 hours after it was answered, unless it has changed or a user asks for it again; the answers of an interrupted run
 *   are never asked for again.
 * Another vehicle under the same stock number is not held back.
 */
export async function dueUnits(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  { runId, sourceStart, limit, again }: DueUnitsQuery,
): Promise<BatchUnit[]> {
  const heldSince = new Date(sourceStart.getTime() - heldHours * 3_600_000)
  const { rows } = await sql<BatchUnit>`
    with recent as materialized (
      select batch.batch_no, batch.state, batch.batch_id, batch.finished_at,
        batch.run_id = ${runId} as in_run,
        coalesce(made.source_started_at > ${heldSince}, false) as is_held, made.status in ('abandoned', 'stopped') as was_cut
      from ops.price_batch as batch left join ops.run as made using (run_id)
      where batch.rooftop_id = ${rooftop.id}
        and (batch.finished_at is null or batch.run_id = ${runId} or made.source_started_at > ${heldSince})
    ), sent as (
      select part.stock_no, part.vin, part.adcode, part.odometer_km,
        recent.finished_at is null or in_run and (state <> 'refused' or outcome is not null)
          or is_held and state = 'lost' and batch_id is null as is_out,
        is_held and outcome in ('priced', 'failed') and (not ${again}::boolean or was_cut) as is_answered
      from recent join ops.price_batch_unit as part using (batch_no)
    ), unit_state as (
      select stock.*, true as is_stock, false as is_out, false as is_answered
      from (${stockQuery(rooftop)}) as stock where adcode is not null or length(vin) = 17
      union all select stock_no, vin, adcode, odometer_km, false, is_out, is_answered from sent where is_out or is_answered
    ), held as (
      -- One sort, whatever the planner estimates: an anti-join that it expects to be small scans one side for every row of the other.
      select unit_state.*, bool_or(is_out) over (partition by stock_no, vin) as same_is_out,
        bool_or(is_answered) over (partition by stock_no, vin, adcode, odometer_km) as same_is_answered
      from unit_state
    )
    select stock_no as "stockNo", vin, adcode, odometer_km as "odometerKm"
    from held where is_stock and not same_is_out and not same_is_answered
    order by stock_no collate "C" limit ${limit}`.execute(db)
  return rows
}

/** Units that no batch can price: without an ADCode it needs a whole VIN [V §2, §4]. */
export async function skippedUnits(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
): Promise<SkippedUnit[]> {
  const { rows } = await sql<{ stockNo: string; vin: string | null }>`
    select stock_no as "stockNo", vin from (${stockQuery(rooftop)}) as stock
    where adcode is null and (vin is null or length(vin) <> 17) order by stock_no collate "C"`.execute(
    db,
  )
  return rows.map(({ stockNo, vin }) => ({
    naturalKey: stockNo,
    check: 'cannot-be-priced',
    detail:
      vin === null
        ? 'the list names neither a VIN nor an ADCode'
        : `no ADCode, and its VIN has ${[...vin].length} characters instead of 17`,
  }))
}
