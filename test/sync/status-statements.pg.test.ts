import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { freshWithinHours, readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { recordVerification, verifyWarehouse } from '#src/sync/verify/verify-warehouse.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'

async function openNight(rooftops: number): Promise<Fixture> {
  const sandbox = { seed: 3, now: new Date(), rooftops, evaluations: 5 * rooftops, days: 3 }
  const fixture = await openFixture({ sandbox })
  await fixture.night()
  return fixture
}

/** How many statements a status takes. */
async function countStatements(rooftops: number): Promise<number> {
  await using fixture = await openNight(rooftops)
  const { db, config } = fixture.context
  const known = await findRooftops(db, config.rooftops)
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  const status = await readStatus(db, allStreams, known, config)
  const { calls, contexts } = spy.mock
  spy.mockRestore()
  expect(Object.keys(status.rooftops)).toHaveLength(rooftops)
  // Other connections of the process work meanwhile.
  const begin = calls.findIndex(([statement]) =>
    /^start transaction/.test((statement as unknown as { text?: string }).text ?? `${statement}`),
  )
  return contexts.filter((client) => client === contexts[begin]).length
}

test('a status takes the same number of statements for any number of rooftops', async () => {
  const few = await countStatements(2)

  expect(await countStatements(12)).toBe(few)
  expect(few).toBeLessThan(25)
})

test('what is wrong at one rooftop is not shown at another', { tags: 'ci' }, async () => {
  await using fixture = await openNight(6)
  const { db, config } = fixture.context
  const rooftops = await findRooftops(db, config.rooftops)
  const of = (at: number) => `rooftop_id = ${rooftops[at]!.id} and stream = 'evaluations'`
  const window = (at: number) =>
    `(rooftop_id, window_from) = (select rooftop_id, window_from from ops.window_certificate where ${of(at)} order by 2 limit 1)`
  await fixture.database.pool.query(`
    update ops.window_certificate set listed = listed + 1 where ${window(0)};
    delete from core.evaluation where eval_id = (select min(eval_id) from core.evaluation where rooftop_id = ${rooftops[1]!.id});
    update ops.run_stream set status = 'failed', error = 'a 403' where ${of(2)};
    delete from ops.window_certificate where ${window(3)};
    insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) values ('users', ${rooftops[4]!.id}, 'x', '[]', 1)`)

  const found = await verifyWarehouse(fixture.context, allStreams, rooftops, config.sync)
  await recordVerification(db, rooftops, found)
  const together = await readStatus(db, allStreams, rooftops, config)

  const alone: Record<string, unknown> = {}
  for (const rooftop of rooftops)
    Object.assign(alone, (await readStatus(db, allStreams, [rooftop], config)).rooftops)
  expect(together.rooftops).toEqual(alone)
  const words = Object.values(together.rooftops).map(({ streams }) => [
    streams['users']!.status,
    streams['evaluations']!.status,
  ])
  expect(words).toEqual([
    ...[
      ['ok', 'partial'],
      ['ok', 'partial'],
      ['ok', 'failed'],
      ['ok', 'partial'],
    ],
    ...[
      ['partial', 'ok'],
      ['ok', 'ok'],
    ],
  ])
})

test('a status reads no row of an evaluation and of its parts', async () => {
  await using fixture = await openNight(2)
  const { db, config, pool } = fixture.context
  const rooftops = await findRooftops(db, config.rooftops)
  const holder = await pool.connect()
  // A statement that reads one of them waits without an end.
  await holder.query(
    `begin; lock table core.evaluation, core.evaluation_version, core.photo, core.price_observation, core.vehicle_check, raw.payload, ops.certified_ids`,
  )

  const status = await readStatus(db, allStreams, rooftops, config)

  await holder.query('rollback')
  holder.release()
  const states = Object.values(status.rooftops).map(({ streams }) => streams['evaluations']!.status)
  expect(states).toEqual(['ok', 'ok'])
})

test('the hours of the rule in the warehouse are those of the messages', {
  tags: 'ci',
}, async () => {
  await using fixture = await openNight(1)
  const { rows } = await fixture.database.pool.query(
    `select core.is_late(now() - make_interval(hours => $1) + interval '1 second', false) as before,
       core.is_late(now() - make_interval(hours => $1) - interval '1 second', false) as after,
       core.is_late(null, false) as never, core.is_late(null, true) as "atWork"`,
    [freshWithinHours],
  )

  expect(rows).toEqual([{ before: false, after: true, never: true, atWork: false }])
})
