import { expect, test } from 'vitest'
import { until } from '../support/child.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-18T02:15:00Z')

async function openWorld(): Promise<Fixture> {
  return await openFixture({
    sandbox: { now, rooftops: 2, evaluations: 40, days: 3 },
    sync: { start: '2026-03-14', windowHours: 12 },
  })
}

async function faults({ sandbox, database }: Fixture) {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(database.pool, 'rooftop'))
}

test('a session that the server ends within a transaction rolls it back, and the run goes on and ends well', async () => {
  await using fixture = await openWorld()
  const { pool } = fixture.database
  await using gate = await pool.connect().then((client) => ({
    client,
    [Symbol.asyncDispose]: async () => client.release(),
  }))
  // The rows of a slice wait for the gate in the middle of its transaction.
  await gate.client.query('begin')
  await gate.client.query('lock table core.evaluation in share row exclusive mode')
  const night = fixture.night()
  const waiting = `from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name = 'forecourt'`
  await until(async () => (await pool.query(`select pid ${waiting}`)).rowCount! > 0)

  const ended = await pool.query(`select pg_terminate_backend(pid) ${waiting}`)
  await gate.client.query('rollback')

  expect(ended.rowCount).toBeGreaterThan(0)
  expect(await night).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
  const { rows } = await pool.query(
    `select count(*)::int as versions, count(distinct eval_id)::int as evaluations from core.evaluation_version`,
  )
  expect(rows[0].versions).toBe(rows[0].evaluations)
})
