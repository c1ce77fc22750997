import { expect, test } from 'vitest'
import { vehicleChecks } from '#src/streams/vehicle-checks/vehicle-checks.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { addCheck, checkedFixture, checkRows } from '../../support/checks-fixture.ts'
import type { Fixture } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'

async function differing({ context, config }: Fixture) {
  const rooftops = await findRooftops(context.db, config.rooftops)
  const { rows } = await verifyRows(context, [vehicleChecks], rooftops, null, context.signal)
  return rows.map(({ table, kind, columns }) => [table, kind, ...columns.map((one) => one.column)])
}

async function replay({ context, config: { rooftops } }: Fixture): Promise<void> {
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  const report = await runStreams(context, { plan, streams: [vehicleChecks], rooftops })
  expect(report.status).toBe('ok')
}

const history = async (fixture: Fixture) =>
  await rowsOf(fixture, 'select from_status, to_status from core.watch_status_change order by 2')
const counts = async (fixture: Fixture) =>
  await rowsOf(fixture, 'select stolen_count, certificate_number from core.vehicle_check')

test('a replay gives a search the results that were paid for, also one that was deleted, with its status', async () => {
  await using fixture = await checkedFixture([{ evalId: 1001 }])
  const { pool } = fixture.database
  const ref = String(addCheck(fixture, -1).id)
  await fixture.night()
  await pool.query(
    `insert into ops.billable_call (operation, budget, rooftop_id, natural_key, day, state, requested_by, check_ref)
     select 'ppsrsearch', 'ppsrSearch', rooftop_id, '1001', '2026-03-10', 'committed', 'tester@here', $1::text from core.rooftop`,
    [ref],
  )
  await pool.query(
    `insert into raw.payload (rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id)
     select rooftop_id, 'ppsrsearch', '1001', now(), '\\x00', $1, 1 from core.rooftop`,
    [JSON.stringify({ ID: ref, Stolen: 2 })],
  )
  const [before] = await checkRows(fixture)

  expect(await differing(fixture)).toEqual([['core.vehicle_check', 'changed', 'stolen_count']])
  await replay(fixture)
  expect(await counts(fixture)).toMatchObject([{ stolen_count: 2 }])
  expect(await differing(fixture)).toEqual([])

  await pool.query('delete from core.vehicle_check')
  await replay(fixture)

  expect(await counts(fixture)).toMatchObject([{ stolen_count: 2 }])
  expect(await checkRows(fixture)).toEqual([{ ...before, watch_status_since: expect.any(Date) }])
  expect(await history(fixture)).toEqual([{ from_status: null, to_status: 'unchanged' }])
  expect(await differing(fixture)).toEqual([])
})

test('a status that differs from its history is named, and a replay takes the one of the history', async () => {
  await using fixture = await checkedFixture([{ evalId: 1001 }])
  addCheck(fixture, -1)
  await fixture.night()
  const before = await checkRows(fixture)
  await fixture.database.pool.query(
    "update core.vehicle_check set watch_status = 'disabled', watch_status_since = now() + interval '1 year'",
  )

  expect(await differing(fixture)).toEqual([
    ['core.vehicle_check', 'changed', 'watch_status', 'watch_status_since'],
  ])
  await replay(fixture)
  expect(await checkRows(fixture)).toEqual(before)
})
