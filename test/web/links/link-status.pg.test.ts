import { expect, test } from 'vitest'
import { readLinkStatus } from '#src/web/links/link-status.ts'
import { dayMs, type Fixture } from '../../support/fixture.ts'
import { addCheck, checkedFixture } from './served.ts'

function status(fixture: Fixture, links: Partial<Fixture['config']['links']> = {}) {
  const config = { ...fixture.config, links: { ...fixture.config.links, ...links } }
  return readLinkStatus(fixture.context.db, config, fixture.sandbox.clock.now())
}

test('without a link the objective is met', async () => {
  await using fixture = await checkedFixture([{}])
  await fixture.night()

  expect(await status(fixture)).toEqual({
    status: 'ok',
    inScope: 0,
    alive: 0,
    share: 1,
    objective: 0.99,
    hoursToLive: 48,
    soonestExpiry: null,
  })
})

test('a link counts as alive up to the second at which it has 48 hours left', async () => {
  await using fixture = await checkedFixture([{}])
  addCheck(fixture)
  await fixture.night()
  const expiry = new Date(fixture.sandbox.clock.now().getTime() + 7 * dayMs).toISOString()

  fixture.sandbox.clock.advance(5 * dayMs)
  const last = await status(fixture)
  fixture.sandbox.clock.advance(1000)
  const missed = await status(fixture)

  expect(last).toMatchObject({ status: 'ok', inScope: 1, alive: 1, soonestExpiry: expiry })
  expect(missed).toMatchObject({ status: 'missed', inScope: 1, alive: 0, share: 0 })
})

test('one dead link of a hundred meets the objective, one of ninety-nine does not', async () => {
  const vins = Array.from(
    { length: 100 },
    (_, index) => `JTMDFREV90D1${String(index).padStart(5, '0')}`,
  )
  await using fixture = await checkedFixture(vins.map((vin, index) => ({ evalId: 1 + index, vin })))
  for (const [index, vin] of vins.entries()) addCheck(fixture, { evalId: 1 + index, vin })
  await fixture.night()
  const { pool } = fixture.database
  await pool.query(
    `update pii.signed_link set signed_at = signed_at - interval '6 days', expires_at = expires_at - interval '6 days'
     where eval_id = 1`,
  )

  const hundred = await status(fixture)
  await pool.query('update core.vehicle_check set gone_at = now() where eval_id = 2')
  const fewer = await status(fixture)

  expect(hundred).toMatchObject({ status: 'ok', inScope: 100, alive: 99, share: 0.99 })
  expect(fewer).toMatchObject({ status: 'missed', inScope: 99, alive: 98 })
})

test('links that cannot or need not stay alive are out of scope', async () => {
  await using fixture = await checkedFixture([{}])
  addCheck(fixture)
  await fixture.night()
  fixture.sandbox.clock.advance(6 * dayMs)
  const { pool } = fixture.database

  const inScope = await status(fixture)
  const tooOld = await status(fixture, { keepAliveDays: 5 })
  const young = await status(fixture, { keepAliveDays: 7 })
  const otherRooftop = await readLinkStatus(
    fixture.context.db,
    { ...fixture.config, rooftops: [{ ...fixture.config.rooftops[0]!, uid: 'another' }] },
    fixture.sandbox.clock.now(),
  )
  await pool.query('update core.evaluation set gone_at = now()')
  const vanished = await status(fixture)

  expect(
    [inScope, tooOld, young, otherRooftop, vanished].map(({ inScope: count }) => count),
  ).toEqual([1, 0, 1, 0, 0])
  expect(vanished.status).toBe('ok')
})
