import { expect, test } from 'vitest'
import { dueUnits } from '#src/streams/stock-prices/batch.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { stock, stockFixture, unitsOf } from './stocked.ts'

const units = 30_000
const batchesBefore = 300

test('the due units of a large stock are found however many were asked about before, with statistics and without', async () => {
  await using fixture = await stockFixture([])
  const { pool } = fixture.database
  await stock(fixture.database, unitsOf(units))
  // Five runs of today over all of it.
  await pool.query(
    `insert into ops.run (command, status, source_started_at)
     values ('reprice', 'ok', now())`,
  )
  await pool.query(
    `insert into ops.price_batch (rooftop_id, run_id, state, batch_id, units, percent, submitted_at, progressed_at, finished_at)
     select 1, (select max(run_id) from ops.run), 'complete', 'b' || n, 500, 100, now(), now(), now() from generate_series(1, ${batchesBefore}) as n`,
  )
  await pool.query(
    `insert into ops.price_batch_unit (batch_no, stock_no, vin, adcode, odometer_km, outcome)
     select batch.batch_no, unit.stock_no, unit.vin, unit.adcode, unit.odometer_km, 'priced'
     from (select *, row_number() over (order by stock_no) - 1 as at from core.stock_unit) as unit
     join (select batch_no, row_number() over (order by batch_no) - 1 as at from ops.price_batch) as batch
       on batch.at % 60 = unit.at / 500
     where unit.at > 1`,
  )
  const [rooftop] = await findRooftops(fixture.context.db, fixture.config.rooftops)
  const ask = { runId: 0, sourceStart: new Date(), limit: 1000, again: false }

  const unknown = await dueUnits(fixture.context.db, rooftop!, ask)
  await pool.query('analyze')
  const known = await dueUnits(fixture.context.db, rooftop!, ask)

  expect(unknown.map(({ stockNo }) => stockNo)).toEqual(['S-1', 'S-10'])
  expect(known).toEqual(unknown)
})
