import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import type { Receipt } from '#src/privacy/erase/receipt.ts'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'
import { databaseLocks } from '../../support/postgres.ts'
import { dumpOf, linesWith } from './dump.ts'
import { byEmail, eraseIn, jane, janesTexts, now } from './erase-fixture.ts'

const createdAt = '2026-03-02T01:00:00Z'
const later = { createdAt: '2026-03-10T09:00:00Z', completedAt: '2026-03-10T09:10:00Z' }

async function openLoadedFixture(evaluations: readonly Evaluation[]): Promise<Fixture> {
  const world = worldOf({
    evaluations: [anEvaluation({ evalId: 1, createdAt, customer: jane }), ...evaluations],
  })
  const fixture = await openFixture({ sandbox: { world, now }, sync: { start: '2026-03-01' } })
  await fixture.night()
  // The last table that a search reads.
  await fixture.database.pool.query(
    'create schema zz; create table zz.note (note text); insert into zz.note select 1',
  )
  return fixture
}

/** Erases Jane, and runs an action after all other tables were searched and before the search ends. */
async function eraseMeanwhile(
  fixture: Fixture,
  meanwhile: () => Promise<unknown>,
): Promise<Receipt> {
  const { pool } = fixture.database
  const holder = await pool.connect()
  await holder.query('begin; lock table zz.note')
  const erasing = eraseIn(fixture, byEmail, false, true)
  await searching(pool)
  await meanwhile()
  await holder.query('commit')
  holder.release()
  return await erasing
}

/** Waits until a search waits for the table that the test has locked. */
async function searching(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      `select from ${databaseLocks} where not granted and relation = 'zz.note'::regclass`,
    )
    if (rows.length > 0) return
    await sleep(20)
  }
}

async function janesLines({ database }: Fixture, more: readonly string[] = []): Promise<string[]> {
  return linesWith(await dumpOf(database.pool), [...janesTexts, ...more])
}

test("loads continue while an erase searches, and the customer's data that they bring is erased too", async () => {
  await using fixture = await openLoadedFixture([
    anEvaluation({ evalId: 2, ...later, customer: { ...jane }, notes: 'Jane Citizen again' }),
  ])

  const receipt = await eraseMeanwhile(fixture, async () => {
    const night = await fixture.nightAfter(1)
    expect(night.streams['evaluations']).toMatchObject({ inserted: 1 })
    const { rows } = await fixture.database.pool.query(
      'select customer_name as name from pii.evaluation_customer where eval_id = 2',
    )
    expect(rows).toEqual([{ name: 'Jane Ann Citizen' }])
  })

  expect(receipt.evaluations.map(({ evalId }) => evalId)).toEqual([1, 2])
  expect(receipt.rescan.left).toEqual({})
  expect(await janesLines(fixture)).toEqual([])
})

test('a name or number that was not searched for before is erased too', {
  tags: 'ci',
}, async () => {
  const [phone, name] = ['0498 222 333', 'Janet Married-Name']
  await using fixture = await openLoadedFixture([
    anEvaluation({ evalId: 2, ...later, customer: { ...jane, name, phone } }),
    anEvaluation({ evalId: 3, createdAt, notes: `Rang ${phone} for Janet Married Name` }),
  ])

  const receipt = await eraseMeanwhile(fixture, async () => await fixture.nightAfter(1))

  expect(receipt.evaluations.map(({ evalId }) => evalId)).toEqual([1, 2])
  expect(receipt.mentionedIn.map(({ evalId }) => evalId)).toEqual([3])
  expect(await janesLines(fixture, [phone, 'Janet Married'])).toEqual([])
})

test('a row that is written again during the search is erased at its new position', {
  tags: 'ci',
}, async () => {
  await using fixture = await openLoadedFixture([])
  const { pool } = fixture.database

  const receipt = await eraseMeanwhile(fixture, async () => {
    await pool.query('update raw.payload set run_id = run_id')
    await pool.query('update pii.evaluation_customer set notes = $1', ['Jane Citizen rang'])
    // A table that is rewritten has all its rows at new positions.
    await pool.query('vacuum full raw.payload')
    await pool.query(`insert into ops.run (command, arguments, status, source_started_at, process_id)
      values ('by hand', '{"for":"Jane Ann Citizen"}', 'ok', now(), 1)`)
  })

  expect(receipt.tables['ops.run']).toBe(1)
  expect(receipt.rescan.left).toEqual({})
  expect(await janesLines(fixture)).toEqual([])
})
