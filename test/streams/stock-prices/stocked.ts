import type { Context } from '#src/context.ts'
import type { Rooftop } from '#src/sandbox/world-types.ts'
import { stockPrices } from '#src/streams/stock-prices/stock-prices.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import type { RunReport } from '#src/sync/run/run-report.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { aRooftop, worldOf } from '../../support/build-world.ts'
import { type Fixture, type FixtureOptions, openFixture } from '../../support/fixture.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'
import { whereWaiting } from '../../support/queue-with.ts'

export const submitPath = '/price-batch'
export const pollPath = '/price-batch/{batchId}'
/** A code that the sandbox knows. */
export const adcode = 'AU0TOYHILUX01'

/** A unit in stock for a test. */
export interface UnitDraft {
  readonly stockNo: string
  readonly vin?: string | null
  readonly adcode?: string | null
  readonly km?: number | null
}

/** A different VIN for every number. */
export const vinOf = (number: number) => `JTMDFREV9${String(number).padStart(8, '0')}`

export const unitsOf = (count: number, from = 1): UnitDraft[] =>
  Array.from({ length: count }, (_, index) => ({
    stockNo: `S-${from + index}`,
    vin: vinOf(from + index),
    km: 40_000 + index,
  }))

/** A fixture whose nights price the stock of its rooftops and do nothing else. */
export async function stockFixture(
  units: readonly UnitDraft[],
  options: Partial<FixtureOptions> & { readonly rooftopsOfWorld?: readonly Rooftop[] } = {},
): Promise<Fixture> {
  const { rooftopsOfWorld = [aRooftop()], sandbox, ...rest } = options
  const world = worldOf({ rooftops: rooftopsOfWorld, evaluations: [] })
  const fixture = await openFixture({
    streams: [stockPrices],
    ...rest,
    sandbox: { world, now: morning, ...sandbox },
  })
  await registerRooftops(fixture.context.db, fixture.config.rooftops)
  await stock(fixture.database, units)
  return fixture
}

/** Adds units to the stock of the rooftop; units that are in stock already are changed to this. */
export async function stock(
  { pool }: Pick<TestDatabase, 'pool'>,
  units: readonly UnitDraft[],
  rooftopUid = 'rooftop-1',
): Promise<void> {
  if (units.length === 0) return
  const file = await pool.query<{ import_id: number; rooftop_id: number }>(
    `insert into core.stock_import (rooftop_id, file_name, sha256, byte_count, mode, encoding, delimiter, dialect, preamble, mapping, warnings,
       records, accepted, rejected, collapsed, skipped, added, updated, unchanged, removed, reappeared, imported_by)
     select rooftop_id, 'stock.csv', sha256('x'), 1, 'snapshot', 'utf-8', ',', '{}', '[]', '[]', '[]', 0,0,0,0,0, 0,0,0,0,0, 'test'
     from core.rooftop where rooftop_uid = $1 returning import_id, rooftop_id`,
    [rooftopUid],
  )
  const { import_id, rooftop_id } = file.rows[0]!
  await pool.query(
    `insert into core.stock_unit (rooftop_id, stock_no, vin, adcode, odometer_km, currency_code, price_on_application, extras,
       content_hash, first_seen_at, last_seen_at, import_id)
     select $1, unit.*, 'AUD', false, '{}', sha256('x'), now(), now(), $2
     from unnest($3::text[], $4::text[], $5::text[], $6::int[]) as unit
     on conflict (rooftop_id, stock_no) do update set vin = excluded.vin, adcode = excluded.adcode, odometer_km = excluded.odometer_km`,
    [
      rooftop_id,
      import_id,
      units.map(({ stockNo }) => stockNo),
      units.map(({ vin = null }) => vin),
      units.map((unit) => unit.adcode ?? null),
      units.map(({ km = null }) => km),
    ],
  )
}

/**
 * Ends the waits of a batch at once: moves the clock of the source on by `seconds`, and ours as far as the ledger of batches
 * shows it.
 */
export function impatient(
  { context: { queue }, sandbox: { clock } }: Pick<Fixture, 'context' | 'sandbox'>,
  seconds = 3,
): Partial<Context> {
  return {
    queue: whereWaiting(queue, 2, async (_, on) => {
      clock.advance(seconds * 1000)
      const earlier = (column: string) =>
        `${column} = ${column} - make_interval(secs => ${seconds})`
      await on.query(
        `update ops.price_batch set ${earlier('progressed_at')} where finished_at is null`,
      )
      await on.query(`update ops.run set ${earlier('started_at')} where status = 'running'`)
      await on.query('update ops.run_stream set not_before = null where not_before is not null')
      return 0
    }),
  }
}

/** Batches of another size than the default. */
export function inBatchesOf({ config }: Fixture, batchSize: number): Partial<Context> {
  return { config: { ...config, prices: { ...config.prices, batchSize } } }
}

/** `forecourt reprice`, in this process. */
export async function reprice(
  { context }: Fixture,
  changes: Partial<Context> = {},
): Promise<RunReport> {
  const plan = { command: 'reprice', mode: 'reprice', from: 0, until: null } as const
  const { rooftops } = context.config
  return await runStreams({ ...context, ...changes }, { plan, streams: [stockPrices], rooftops })
}

export interface ObservationRow {
  readonly stock_no: string
  readonly retail: string | null
  readonly error: string | null
  readonly is_current: boolean
}

export const observations = async (fixture: Fixture) =>
  await rowsOf<ObservationRow & Record<string, unknown>>(
    fixture,
    `select stock_no, vin, observed_at, last_confirmed_at, is_current, retail, retail_low, retail_high, wholesale,
       wholesale_low, wholesale_high, currency_code, error
     from core.stock_price_observation order by length(stock_no), stock_no, observed_at`,
  )

export const batches = async (fixture: Fixture) =>
  await rowsOf<{ batch_no: number; state: string; units: number; detail: string | null }>(
    fixture,
    'select batch_no, state, units, batch_id, percent, detail from ops.price_batch order by batch_no',
  )

export const reports = async (fixture: Fixture) =>
  await rowsOf(
    fixture,
    `select natural_key, check_name, detail from ops.data_quality where stream = 'stock-prices'
     order by check_name, length(natural_key), natural_key`,
  )

/** Calls of an operation of the vehicle-data APIs so far. */
export const calls = ({ sandbox }: Fixture, path: string) => sandbox.requests.count(path)
