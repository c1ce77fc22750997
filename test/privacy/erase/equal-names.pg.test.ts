import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { eraseIn, now } from './erase-fixture.ts'

const createdAt = '2026-03-02T01:00:00Z'
const tradeIn = { name: 'Trade In', phone: '0412 345 678', email: 'trade@example.org' }
const arab = { name: 'محمد العلي', phone: '0501234567', email: 'm.ali@example.org' }

/** Customers with difficult names at `north`, e.g. Trade In or one in Arabic script, and others of another dealer group at `far`. */
async function openTwoGroups(): Promise<Fixture> {
  const rooftops = [
    aRooftop({ uid: 'north', dealerId: 101 }),
    aRooftop({ uid: 'far', groupId: 'group-2', dealerId: 202 }),
  ]
  const named = {
    photos: [{ id: 1, angle: 'Trade In' }],
    reconditioning: [
      { type: 'Trade In', source: 'Trade In', cost: 10, value: 'a Trade In of أحمد' },
    ],
    customFields: { 'Trade In': { type: 'Trade In', options: null, value: 'asks for Trade In' } },
  }
  const bob = { name: 'Bob Other', phone: '0498 765 432', email: 'bob@example.org' }
  const far = { rooftopUid: 'far', createdAt, customer: bob }
  const evaluations = [
    anEvaluation({ evalId: 1, rooftopUid: 'north', createdAt, customer: tradeIn, ...named }),
    anEvaluation({ evalId: 2, rooftopUid: 'north', createdAt, customer: bob, ...named }),
    anEvaluation({ ...far, ...named, evalId: 3, notes: 'Trade In, at our cost' }),
    anEvaluation({ ...far, evalId: 4, notes: 'Ask trade@example.org or +61 412 345 678' }),
    anEvaluation({ evalId: 5, rooftopUid: 'north', createdAt, customer: arab }),
    anEvaluation({ evalId: 6, rooftopUid: 'north', createdAt, notes: 'أخ محمد العلي' }),
  ]
  return await openFixture({
    sandbox: { world: worldOf({ rooftops, evaluations }), now },
    dealerIds: false,
    sync: { start: '2026-03-01' },
  })
}

const reporting = /* sql */ `
  select to_jsonb(array[recon_type, source]) as fact from core.reconditioning_item
  union all select to_jsonb(angle) from core.photo
  union all select to_jsonb(array[field_name, field_type]) from core.custom_field_value`

test("columns that are counted are never changed, whatever the customer's name is", {
  tags: 'ci',
}, async () => {
  await using fixture = await openTwoGroups()
  const { pool } = fixture.database
  await fixture.night()
  const before = await pool.query(reporting)

  const receipt = await eraseIn(fixture, { kind: 'email', value: 'trade@example.org' })

  expect(before.rows.length).toBe(9)
  expect((await pool.query(reporting)).rows).toEqual(before.rows)
  expect(receipt.rescan.left).toEqual({})
  const { rows: texts } = await pool.query(
    'select eval_id::int as id, value_text as text from core.reconditioning_item where eval_id < 3 order by 1',
  )
  expect(texts).toEqual([
    { id: 1, text: 'a [erased] of أحمد' },
    { id: 2, text: 'a [erased] of أحمد' },
  ])
  const { rows: bodies } = await pool.query(
    `select distinct jsonb_path_query_array(body::jsonb, 'lax $.reconditioning_list.type') as types,
       jsonb_path_query_array(body::jsonb, 'lax $.Photos.angle') as angles
     from raw.payload where body::text like '%Photos%' and natural_key in ('1', '2', '3')`,
  )
  expect(bodies).toEqual([{ types: ['Trade In'], angles: ['Trade In'] }])
})

test('a name in another script is erased, and no other row is read', async () => {
  await using fixture = await openTwoGroups()
  const { pool } = fixture.database
  await fixture.night()

  const receipt = await eraseIn(fixture, { kind: 'email', value: 'm.ali@example.org' })

  expect(receipt.evaluations.map(({ evalId }) => evalId)).toEqual([5])
  expect(receipt.mentionedIn.map(({ evalId }) => evalId)).toEqual([6])
  expect(receipt.rescan).toMatchObject({ left: {}, others: {} })
  const { rows } = await pool.query('select notes from pii.evaluation_customer where eval_id = 6')
  expect(rows).toEqual([{ notes: 'أخ [erased]' }])
})

test('a name is erased only in its own dealer group, e-mails and phones everywhere', async () => {
  await using fixture = await openTwoGroups()
  const { pool } = fixture.database
  await fixture.night()

  const receipt = await eraseIn(fixture, { kind: 'email', value: 'trade@example.org' })

  const { rows } = await pool.query(
    `select eval_id::int as id, notes from pii.evaluation_customer where eval_id in (3, 4) order by 1`,
  )
  expect(rows).toEqual([
    { id: 3, notes: 'Trade In, at our cost' },
    { id: 4, notes: 'Ask [erased] or [erased]' },
  ])
  expect(receipt.mentionedIn.map(({ evalId }) => evalId)).toEqual([4, 2])
  expect(receipt.rescan.left).toEqual({})
})
