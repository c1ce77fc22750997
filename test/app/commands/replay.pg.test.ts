import { expect, test } from 'vitest'
import {
  type ChildFixture,
  type ChildWarehouse,
  openChildFixture,
} from '../../support/child-fixture.ts'
import { contentDifferences, readExactContent, rowCounts } from '../../support/warehouse-content.ts'
import { smallFixture } from './sync-fixture.ts'

const dayMs = 86_400_000

/** Three nights: versions, ended reconditioning lines, removed photos, one evaluation that vanished and one that is listed no more. */
async function threeNights(fixture: ChildFixture, warehouse: ChildWarehouse): Promise<void> {
  const { world, clock } = fixture.sandbox
  const edit = (evalId: number, patch: Parameters<typeof world.edit>[2]) =>
    world.edit(evalId, new Date(clock.now().getTime() + 3_600_000), patch)
  expect((await warehouse.night()).status).toBe('ok')
  edit(1001, { finalPrice: 21_000, photos: [] })
  edit(1002, { reconditioning: [{ type: 'paint', source: 'Shop', cost: 90, value: 'door' }] })
  world.vanish(1005, new Date(clock.now().getTime() + 3_600_000))
  clock.advance(dayMs)
  expect((await warehouse.night()).status).toBe('ok')
  edit(1001, { finalPrice: 20_500, customer: { phone: '0491 570 110' } })
  edit(1002, { reconditioning: [], notes: 'Repaired.' })
  clock.advance(dayMs)
  expect((await warehouse.night()).status).toBe('ok')
}

test('replay after the tables were emptied gives back the same rows, without a call', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await threeNights(fixture, warehouse)
  const before = await readExactContent(pool)
  expect(rowCounts(before)).toMatchObject({ 'core.evaluation': 6, 'core.evaluation_version': 10 })
  expect(before['core.photo']!.filter((line) => !line.includes('"removed_at": null'))).toHaveLength(
    2,
  )
  expect(
    before['core.evaluation']!.filter((line) => !line.includes('"gone_at": null')),
  ).toHaveLength(1)
  const calls = fixture.sandbox.requests.count()
  await pool.query(`truncate core.evaluation, core.evaluation_version, core.photo, core.reconditioning_item,
    core.custom_field_value, core.user_price, core.app_user, core.app_user_rooftop,
    pii.app_user_email, pii.evaluation_customer`)

  const { code, document } = await warehouse.json(['replay'])

  expect([code, document['status']]).toEqual([0, 'ok'])
  expect(contentDifferences(before, await readExactContent(pool))).toEqual([])
  expect(fixture.sandbox.requests.count()).toBe(calls)
  expect((await warehouse.json(['verify'])).document['status']).toBe('ok')
})

test('replay over an untouched warehouse changes no content', { tags: 'ci' }, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  await threeNights(fixture, warehouse)
  const before = await readExactContent(pool)
  const calls = fixture.sandbox.requests.count()

  const { code } = await warehouse.json(['replay', 'evaluations'])

  expect(code).toBe(0)
  expect(contentDifferences(before, await readExactContent(pool))).toEqual([])
  expect(fixture.sandbox.requests.count()).toBe(calls)
})

test('replay works while the source is down', { tags: 'ci' }, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  expect((await warehouse.night()).status).toBe('ok')
  await fixture.sandbox.close()

  const { code } = await warehouse.json(['replay'])

  expect(code).toBe(0)
})

test('a sync after a replay finds nothing to do', { tags: 'ci' }, async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using warehouse = await fixture.warehouse()
  await threeNights(fixture, warehouse)
  expect((await warehouse.run(['replay'])).code).toBe(0)

  const { streams } = await warehouse.night()

  expect(streams['evaluations']).toMatchObject({ inserted: 0, updated: 0, quarantined: 0 })
  expect(streams['users']).toMatchObject({ inserted: 0, updated: 0 })
})
