import { expect, test } from 'vitest'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { openFixture } from '../support/fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')
const rooftops = [
  aRooftop({ uid: 'north', dealerId: 101, currency: 'AUD' }),
  aRooftop({ uid: 'south', dealerId: 102, currency: 'AUD', timezone: 'Australia/Perth' }),
]
const evaluations = Array.from({ length: 10 }, (_, index) =>
  anEvaluation({
    evalId: 1000 + index,
    rooftopUid: index % 2 === 0 ? 'north' : 'south',
    createdAt: new Date(now.getTime() - (index + 1) * 40_000_000),
  }),
)
const world = worldOf({ rooftops, evaluations, keys: [aKey({ rooftopUids: ['north', 'south'] })] })

test('with a list of the whole group, the payload decides the owner of an evaluation', async () => {
  await using fixture = await openFixture({ sandbox: { world, now } })
  // The config of north has no dealerId, so its list covers the group.
  const rooftops = fixture.config.rooftops.map((rooftop) =>
    rooftop.uid === 'north' ? { ...rooftop, dealerId: null } : rooftop,
  )

  const report = await fixture.night({ config: { ...fixture.config, rooftops } })

  const { rows } = await fixture.database.pool.query(
    `select rooftop_uid, array_agg(eval_id::int order by eval_id) as ids
     from core.evaluation join core.rooftop using (rooftop_id) group by 1 order by 1`,
  )
  expect(report.status).toBe('ok')
  expect(rows).toEqual([
    { rooftop_uid: 'north', ids: [1000, 1002, 1004, 1006, 1008] },
    { rooftop_uid: 'south', ids: [1001, 1003, 1005, 1007, 1009] },
  ])
})

test('an evaluation that contradicts the document is loaded with a warning, which is removed once it is corrected', async () => {
  const created = new Date('2026-03-09T10:00:00Z')
  const own = worldOf({
    rooftops: rooftops.slice(0, 1),
    evaluations: [anEvaluation({ evalId: 2000, rooftopUid: 'north', createdAt: created })],
    keys: [aKey({ rooftopUids: ['north'] })],
  })
  own.poison(2000, { EntryDate: '2026-03-09 22:00:00' })
  await using fixture = await openFixture({ sandbox: { world: own, now } })
  const warnings = async () =>
    (
      await fixture.database.pool.query(
        'select natural_key, check_name, detail from ops.data_quality',
      )
    ).rows

  const report = await fixture.night()

  expect(report.streams['evaluations']).toMatchObject({ inserted: 1, quarantined: 0 })
  expect(await warnings()).toEqual([
    {
      natural_key: '2000',
      check_name: 'entry-date-disagrees',
      detail: 'EntryDate and CreatedAt are 43200 s apart',
    },
  ])
  own.removePoison(2000)
  own.edit(2000, fixture.sandbox.clock.now(), { finalPrice: 1 })
  await fixture.nightAfter(1)
  expect(await warnings()).toEqual([])
})
