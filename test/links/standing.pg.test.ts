import { expect, test } from 'vitest'
import { readLinkStanding } from '#src/links/standing.ts'
import { dayMs, type House } from '../support/nights.ts'
import { addCheck, checkedHouse } from './served.ts'

function standing(house: House, links: Partial<House['config']['links']> = {}) {
  const config = { ...house.config, links: { ...house.config.links, ...links } }
  return readLinkStanding(house.context.db, config, house.sandbox.clock.now())
}

test('without a link the objective is met', async () => {
  await using house = await checkedHouse([{}])
  await house.night()

  expect(await standing(house)).toEqual({
    status: 'ok',
    inScope: 0,
    alive: 0,
    share: 1,
    objective: 0.99,
    hoursToLive: 48,
    soonestExpiry: null,
  })
})

test('a link counts as alive to the second on which it has 48 hours left', async () => {
  await using house = await checkedHouse([{}])
  addCheck(house)
  await house.night()
  const expiry = new Date(house.sandbox.clock.now().getTime() + 7 * dayMs).toISOString()

  house.sandbox.clock.advance(5 * dayMs)
  const last = await standing(house)
  house.sandbox.clock.advance(1000)
  const missed = await standing(house)

  expect(last).toMatchObject({ status: 'ok', inScope: 1, alive: 1, soonestExpiry: expiry })
  expect(missed).toMatchObject({ status: 'missed', inScope: 1, alive: 0, share: 0 })
})

test('one dead link of a hundred meets the objective, one of ninety-nine does not', async () => {
  const vins = Array.from(
    { length: 100 },
    (_, index) => `JTMDFREV90D1${String(index).padStart(5, '0')}`,
  )
  await using house = await checkedHouse(vins.map((vin, index) => ({ evalId: 1 + index, vin })))
  for (const [index, vin] of vins.entries()) addCheck(house, { evalId: 1 + index, vin })
  await house.night()
  const { pool } = house.database
  await pool.query(
    `update pii.signed_link set signed_at = signed_at - interval '6 days', expires_at = expires_at - interval '6 days'
     where eval_id = 1`,
  )

  const hundred = await standing(house)
  await pool.query('update core.vehicle_check set gone_at = now() where eval_id = 2')
  const fewer = await standing(house)

  expect(hundred).toMatchObject({ status: 'ok', inScope: 100, alive: 99, share: 0.99 })
  expect(fewer).toMatchObject({ status: 'missed', inScope: 99, alive: 98 })
})

test('what nobody can keep alive, or is not to, is out of scope', async () => {
  await using house = await checkedHouse([{}])
  addCheck(house)
  await house.night()
  house.sandbox.clock.advance(6 * dayMs)
  const { pool } = house.database

  const inScope = await standing(house)
  const tooOld = await standing(house, { keepAliveDays: 5 })
  const young = await standing(house, { keepAliveDays: 7 })
  const elsewhere = await readLinkStanding(
    house.context.db,
    { ...house.config, rooftops: [{ ...house.config.rooftops[0]!, uid: 'another' }] },
    house.sandbox.clock.now(),
  )
  await pool.query('update core.evaluation set gone_at = now()')
  const vanished = await standing(house)

  expect([inScope, tooOld, young, elsewhere, vanished].map(({ inScope: count }) => count)).toEqual([
    1, 0, 1, 0, 0,
  ])
  expect(vanished.status).toBe('ok')
})
