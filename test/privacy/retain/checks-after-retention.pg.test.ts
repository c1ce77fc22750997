import { expect, test } from 'vitest'
import { deletePayloads } from '#src/privacy/retain/apply-retention.ts'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { addCheck, checkedFixture, checkRows } from '../../support/checks-fixture.ts'
import type { Fixture } from '../../support/fixture.ts'
import { morning } from '../../support/pricing-fixture.ts'

async function differing({ context, config }: Fixture) {
  const rooftops = await findRooftops(context.db, config.rooftops)
  const { rows } = await verifyRows(context, [vehicleChecks], rooftops, null, context.signal)
  return rows.map(({ table, columns }) => [table, ...columns.map(({ column }) => column)])
}

async function replay({ context, config: { rooftops } }: Fixture): Promise<void> {
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  expect((await runStreams(context, { plan, streams: [vehicleChecks], rooftops })).status).toBe(
    'ok',
  )
}

test('a final status whose answer was deleted stays, though newer answers contradict it; a planted one is named', async () => {
  await using fixture = await checkedFixture([{ evalId: 1001 }])
  const { pool } = fixture.database
  const changesAt = new Date(morning.getTime() - 3_600_000)
  addCheck(fixture, -1, { watch: { isWatched: true, changesAt } })
  await fixture.night()
  // Later the source lists the status of before, which changes no row: a final status never changes.
  await pool.query(
    `insert into raw.payload select rooftop_id, endpoint, natural_key, fetched_at + interval '1 day', sha256('later'),
       replace(body::text, '"changed"', '"unchanged"')::json, run_id
     from raw.payload where endpoint in ('getpastppsrsearch', 'ppsrwatch')`,
  )
  const before = await checkRows(fixture)
  expect(before).toMatchObject([{ watch_status: 'changed' }])
  expect(await differing(fixture)).toEqual([])

  expect(await deletePayloads(fixture.context, new Date(), 100)).toBeGreaterThan(0)

  expect(await differing(fixture)).toEqual([])
  await replay(fixture)
  expect(await checkRows(fixture)).toEqual(before)
  await pool.query("update core.vehicle_check set watch_status = 'expired'")
  expect(await differing(fixture)).toEqual([['core.vehicle_check', 'watch_status']])
})
