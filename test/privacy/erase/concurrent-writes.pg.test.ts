import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import type { Receipt } from '#src/privacy/erase/receipt.ts'
import type { Evaluation } from '#src/sandbox/world-types.ts'
import { loadChecks } from '#src/streams/vehicle-checks/load-checks.ts'
import { lockClass } from '#src/warehouse/db/locks.ts'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { recordArchived } from '#src/web/archive/archive.ts'
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
  await waiting(pool, `relation = 'zz.note'::regclass`)
  await meanwhile()
  await holder.query('commit')
  holder.release()
  return await erasing
}

/** Waits until a session waits for a lock. */
async function waiting(pool: pg.Pool, lock: string): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(`select from ${databaseLocks} where not granted and ${lock}`)
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

test('a PDF, a signed link or a list of checks that is stored while an erasure ends waits for it', async () => {
  await using fixture = await openLoadedFixture([])
  const { pool } = fixture.database
  const { rows } = await pool.query<{ rooftopId: number; groupId: number }>(
    'select rooftop_id as "rooftopId", group_id as "groupId" from core.rooftop',
  )
  const { rooftopId, groupId } = rows[0]!
  const link = { rooftopId, evalId: 1, linkKind: 'ppsr_pdf', linkRef: 'x' }
  const holder = await pool.connect()
  // The erasure empties it last.
  await holder.query('begin; lock table ops.stock_upload in share mode')
  const erased = eraseIn(fixture, byEmail, false, true)
  await waiting(pool, `relation = 'ops.stock_upload'::regclass`)

  const about = { groupId, vin: anEvaluation().vin!, at: now, runId: null, isOfThisVehicle: true }
  const stored = [
    recordArchived(fixture.context.db, link, { sha256: Buffer.alloc(32, 1), byteCount: 5 }),
    pool.query(
      `insert into pii.signed_link values ($1, 1, 'ppsr_pdf', 'x', 'https://x/y', now(), now() + interval '7 days')`,
      [rooftopId],
    ),
    inTransaction(pool, (tx) =>
      loadChecks(tx, [{ ...about, kind: 'ppsr', checks: [] }], fixture.config.wire.appraisal),
    ),
  ]
  const erasure = `classid = ${lockClass.erasure}`
  const allWait = waiting(pool, `${erasure} having count(*) = ${stored.length}`)
  const first = await Promise.race([...stored.map((one) => one.then(() => 'stored')), allWait])
  // A lock that an erasure may wait for comes after its own.
  const { rowCount: before } = await pool.query(
    `select from ${databaseLocks} where classid = ${lockClass.checks}`,
  )
  await holder.query('commit')
  holder.release()
  const receipt = await erased
  await Promise.all(stored)

  expect({ first, before }).toEqual({ first: undefined, before: 0 })
  expect(receipt.rescan.left).toEqual({})
  expect((await pool.query('select from pii.archived_pdf')).rowCount).toBe(0)
  expect((await pool.query('select from pii.signed_link')).rowCount).toBe(0)
  const { rows: files } = await pool.query(
    `select encode(sha256, 'hex') as sha from pii.erasure_file`,
  )
  expect(files).toEqual([{ sha: '01'.repeat(32) }])
})
