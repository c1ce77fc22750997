import type pg from 'pg'
import { expect, test } from 'vitest'
import { erase } from '#src/privacy/erase/erase.ts'
import { isClean } from '#src/privacy/erase/receipt.ts'
import type { Customer } from '#src/sandbox/world-types.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { addCheck, aVin, checkedFixture } from '../../support/checks-fixture.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { dumpOf, linesWith } from './dump.ts'
import { byEmail, byEval, eraseIn, jane, janesTexts, now } from './erase-fixture.ts'

const createdAt = '2026-03-02T01:00:00Z'
const later = new Date('2026-03-10T12:00:00Z')
const bob = { ...jane, name: 'Bob Other', phone: '0498 765 432', email: 'bob@example.org' }
const bobAway = { ...bob, address: '9 Far Road', suburb: 'Kew' }

/** Evaluation 1 with two stored bodies: Jane's, and the edited one. */
async function openEdited(customer: Partial<Customer>): Promise<Fixture> {
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt, customer: jane, notes: 'Jane Ann Citizen rang' }),
    ],
  })
  const fixture = await openFixture({ sandbox: { world, now }, sync: { start: '2026-03-01' } })
  await fixture.night()
  fixture.sandbox.world.edit(1, later, { customer, notes: 'rang again' })
  await fixture.nightAfter(1)
  return fixture
}

async function customerOf(pool: pg.Pool): Promise<unknown> {
  const { rows } = await pool.query(
    `select customer_name as name, phone, email, address, suburb from pii.evaluation_customer`,
  )
  return rows[0]
}

async function versionsOf(pool: pg.Pool): Promise<unknown> {
  const { rows } = await pool.query(
    `select version_no, changed_fields from core.evaluation_version order by 1`,
  )
  return rows
}

test('a phone that was edited between two stored bodies is not reported as left', {
  tags: 'ci',
}, async () => {
  await using fixture = await openEdited({ ...jane, phone: '0498 111 222' })

  const receipt = await eraseIn(fixture, byEval(1))

  expect(receipt.rescan.left).toEqual({})
  expect(isClean(receipt)).toBe(true)
})

test('a customer who replaced the erased one stays, also in later loads, and the receipt names the evaluation', async () => {
  await using fixture = await openEdited(bobAway)
  const { pool } = fixture.database
  const versions = await versionsOf(pool)

  const receipt = await eraseIn(fixture, byEmail)
  const night = await fixture.nightAfter(1)

  expect(receipt.evaluations).toEqual([])
  expect(receipt.mentionedIn).toEqual([{ rooftop: 'rooftop-1', evalId: 1 }])
  expect(receipt.rescan.left).toEqual({})
  expect(linesWith(await dumpOf(pool), janesTexts)).toEqual([])
  const { name, phone, email, address, suburb } = bobAway
  expect(await customerOf(pool)).toEqual({ name, phone, email, address, suburb })
  expect(await versionsOf(pool)).toEqual(versions)
  expect(night.streams['evaluations']).toMatchObject({ inserted: 0, updated: 0 })
  const { rows } = await pool.query('select count(*)::int as contacts from pii.suppressed_contact')
  expect(receipt.suppressed.contacts).toBe(rows[0].contacts)
  const { rows: again } = await pool.query(
    `select body from raw.payload where body::text like '%bob@example.org%'`,
  )
  expect(again).toHaveLength(1)

  const bobs = await eraseIn(fixture, { kind: 'email', value: 'bob@example.org' }, true)
  expect(bobs).toMatchObject({ erasedBefore: null, evaluations: [{ evalId: 1 }] })
})

test('--eval erases only the present customer', { tags: 'ci' }, async () => {
  await using fixture = await openEdited(bobAway)

  await eraseIn(fixture, byEval(1))
  const ofBob = await eraseIn(fixture, { kind: 'email', value: 'bob@example.org' }, true)
  const ofJane = await eraseIn(fixture, byEmail, true)

  expect(ofBob.erasedBefore).not.toBeNull()
  expect(ofJane.erasedBefore).toBeNull()
})

test('a stored reason has no personal data, also of people who share it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openEdited({ ...jane, phone: '0498 111 222' })
  const { context, config } = fixture
  await fixture.database.pool.query(
    `insert into pii.evaluation_customer (rooftop_id, eval_id, customer_name, phone, email)
     select rooftop_id, 77, 'Kin Citizen', $1, 'kin@example.org' from core.rooftop`,
    ['0498 111 222'],
  )
  const reason =
    'Jane Ann Citizen of 12 Station Street, 0498 111 222, for kin@example.org or +61 411 000 111'

  const receipt = await erase(context.pool, config.wire.appraisal, {
    subject: byEmail,
    reason,
    requestedBy: 'test@host',
    dryRun: false,
  })

  expect(receipt.reason).toBe('[erased] of [erased], [erased], for [erased] or [erased]')
  const { rows } = await fixture.database.pool.query('select reason from pii.erasure')
  expect(rows).toEqual([{ reason: receipt.reason }])
})

test('signed links are removed from the stored answers of an erased evaluation, and do not come back', {
  tags: 'ci',
}, async () => {
  await using fixture = await checkedFixture([
    { evalId: 1001, vin: aVin, customer: jane },
    { evalId: 1002, vin: 'WVWZZZ1KZAW000001' },
  ])
  const { pool } = fixture.database
  addCheck(fixture, -2)
  addCheck(fixture, -2, { evalId: 1002, vin: 'WVWZZZ1KZAW000001' })
  await fixture.night()
  const before = await linkedIn(pool)

  const receipt = await eraseIn(fixture, byEval(1001))
  const erased = await linkedIn(pool)
  addCheck(fixture, 1)
  await fixture.nightAfter(2)

  expect(before).toEqual(['1001', '1002'])
  expect(receipt.rescan.left).toEqual({})
  expect(erased).toEqual(['1002'])
  expect(await linkedIn(pool)).toEqual(['1002'])
  const { rows } = await pool.query(`select from core.vehicle_check where eval_id = 1001`)
  expect(rows).toHaveLength(2)
})

/** Evaluations with a signed link in a stored answer. */
async function linkedIn(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ key: string }>(
    `select distinct natural_key as key from raw.payload
     where endpoint in ('getpastppsrsearch', 'getpastcarhistory') and body::text like '%http%' order by 1`,
  )
  return rows.map(({ key }) => key)
}
