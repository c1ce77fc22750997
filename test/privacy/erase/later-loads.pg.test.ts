import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { openContext } from '#src/open-context.ts'
import { screenAnswer } from '#src/privacy/screen/suppression.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { quarantineRecords } from '#src/sync/records/quarantine.ts'
import { lockClass } from '#src/warehouse/db/locks.ts'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { openImportFixture } from '../../stock/import-fixture.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { type Fixture, openFixture, runNight } from '../../support/fixture.ts'
import { databaseLocks } from '../../support/postgres.ts'
import { pricedFixture, pricingPath } from '../../support/pricing-fixture.ts'
import { dumpOf, linesWith } from './dump.ts'
import { byEmail, byEval, byPhone, eraseIn, jane, janesTexts, now } from './erase-fixture.ts'

const createdAt = '2026-03-02T01:00:00Z'

/** The customers in the warehouse. */
async function customersOf(pool: pg.Pool): Promise<Record<string, string | null>> {
  const { rows } = await pool.query<{ id: string; name: string | null }>(
    `select eval_id::text as id, customer_name as name from pii.evaluation_customer order by 1`,
  )
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]))
}

async function janesLines(pool: pg.Pool): Promise<string[]> {
  return linesWith(await dumpOf(pool), janesTexts)
}

test('a later evaluation with an erased e-mail or phone is loaded without the customer', async () => {
  const later = '2026-03-10T09:00:00Z'
  const draft = { createdAt: later, completedAt: '2026-03-10T09:10:00Z' }
  const other = { name: 'Al Other', phone: '0498 765 432', email: 'al@example.org' }
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt, customer: jane }),
      anEvaluation({ evalId: 2, ...draft, customer: { ...jane, name: 'J C', phone: null } }),
      anEvaluation({ evalId: 3, ...draft, customer: { ...jane, email: null } }),
      anEvaluation({
        evalId: 4,
        ...draft,
        customer: { ...other, address: '9 Other Road' },
        notes: 'Ask +61 412 345 678 or al@example.org',
      }),
    ],
  })
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  await eraseIn(fixture, byEval(1))

  const nights = [await fixture.nightAfter(1), await fixture.nightAfter(0)]

  expect(nights.map(({ streams }) => streams['evaluations'])).toMatchObject([
    { inserted: 3, updated: 0 },
    { inserted: 0, updated: 0 },
  ])
  expect(await customersOf(pool)).toEqual({ 1: null, 2: null, 3: null, 4: 'Al Other' })
  expect(await janesLines(pool)).toEqual([])
  const { rows } = await pool.query('select notes from pii.evaluation_customer where eval_id = 4')
  expect(rows).toEqual([{ notes: 'Ask [erased] or al@example.org' }])
})

test('a later record that does not fit is quarantined without the customer', {
  tags: 'ci',
}, async () => {
  const later = { createdAt: '2026-03-10T09:00:00Z', completedAt: '2026-03-10T09:10:00Z' }
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt, customer: jane }),
      anEvaluation({ evalId: 2, ...later, customer: jane, notes: 'Jane Citizen rang' }),
    ],
  })
  world.poison(2, { UpdatedAt: 'never' })
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  await eraseIn(fixture, byEmail)

  const report = await fixture.nightAfter(1)

  expect(report.streams['evaluations']).toMatchObject({ quarantined: 1 })
  expect(await janesLines(pool)).toEqual([])
  world.removePoison(2)
  await fixture.nightAfter(1)
  expect(await customersOf(pool)).toEqual({ 1: null, 2: null })
  expect(await janesLines(pool)).toEqual([])
})

test('an evaluation that vanishes and returns stays without its customer', async () => {
  const world = worldOf({ evaluations: [anEvaluation({ evalId: 1, createdAt, customer: jane })] })
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  world.vanish(1, fixture.sandbox.clock.now())
  await fixture.nightAfter(1)
  await eraseIn(fixture, byEmail)
  world.vanish(1, new Date('2099-01-01T00:00:00Z'))

  await fixture.nightAfter(1)

  const { rows } = await pool.query('select gone_at, version_no from core.evaluation')
  expect(rows).toEqual([{ gone_at: null, version_no: 1 }])
  expect(await customersOf(pool)).toEqual({ 1: null })
  expect(await janesLines(pool)).toEqual([])
})

test('an evaluation that moves to another rooftop of the group stays without its customer', {
  tags: 'ci',
}, async () => {
  const rooftops = [
    aRooftop({ uid: 'north', dealerId: 101 }),
    aRooftop({ uid: 'south', dealerId: 102 }),
  ]
  const worldAt = (rooftopUid: string) =>
    worldOf({
      rooftops,
      keys: [aKey({ rooftopUids: ['north', 'south'] })],
      evaluations: [anEvaluation({ evalId: 1, rooftopUid, createdAt, customer: jane })],
    })
  await using fixture = await openFixture({
    sandbox: { world: worldAt('north'), now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  await eraseIn(fixture, byPhone)
  const clock = new VirtualClock({ start: new Date(now.getTime() + 86_400_000), frozen: true })
  await using sandbox = await startSandbox({ world: worldAt('south'), clock })
  const { warehouse } = fixture.config
  const client = { ...sandbox.clientConfig(), warehouse, sync: { start: '2026-03-01' } }
  await using context = await openContext(makeConfig(client, '/nowhere'), fixture.context.log)

  for (let night = 0; night < 2; night++) await runNight(context)

  const { rows } = await pool.query(
    'select rooftop_uid, gone_at from core.evaluation join core.rooftop using (rooftop_id)',
  )
  expect(rows).toEqual([{ rooftop_uid: 'south', gone_at: null }])
  expect(await customersOf(pool)).toEqual({ 1: null })
  expect(await janesLines(pool)).toEqual([])
})

test('an erase waits for a load that writes the evaluation, and erases what it wrote', {
  tags: 'ci',
}, async () => {
  const world = worldOf({ evaluations: [anEvaluation({ evalId: 1, createdAt, customer: jane })] })
  const sandbox = { world, now }
  const streams = [evaluations]
  await using fixture = await openFixture({ sandbox, streams, sync: { start: '2026-03-01' } })
  let erasing: ReturnType<typeof eraseIn> | undefined
  const crashPoint = (name: string) => {
    // The rows are in a transaction that has not committed, so no other session sees them.
    if (name === 'rows-written') erasing ??= eraseIn(fixture, byPhone)
  }

  await fixture.night({ crashPoint })

  expect((await erasing!).evaluations).toMatchObject([{ evalId: 1 }])
  expect(await janesLines(fixture.database.pool)).toEqual([])
})

test('a load that read the customer before an erase committed does not write them', {
  tags: 'ci',
}, async () => {
  const world = worldOf({ evaluations: [anEvaluation({ evalId: 1, createdAt, customer: jane })] })
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  world.edit(1, fixture.sandbox.clock.now(), { notes: 'Jane Citizen rang', finalPrice: 100 })
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query('select pg_advisory_xact_lock_shared($1::int, 0)', [lockClass.erasure])

  const erasing = eraseIn(fixture, byPhone)
  await waiting(pool, 1)
  const night = fixture.nightAfter(1)
  await waiting(pool, 2)
  await holder.query('commit')
  holder.release()
  await erasing

  expect((await night).streams['evaluations']).toMatchObject({ updated: 1 })
  expect(await janesLines(pool)).toEqual([])
  const { rows } = await pool.query('select final_price::float as price from core.evaluation')
  expect(rows).toEqual([{ price: 100 }])
})

test('a load that only marks a record also waits for an erasure; a night without changes does not', async () => {
  const gone = anEvaluation({ evalId: 1, createdAt, vanishedAt: '2026-03-11T00:00:00Z' })
  await using fixture = await openFixture({
    sandbox: { world: worldOf({ evaluations: [gone] }), now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  const erasing = await pool.connect()
  await erasing.query('select pg_advisory_lock($1::int, 0)', [lockClass.erasure])

  const idle = await fixture.nightAfter(0.1)
  const marking = fixture.nightAfter(1)
  await waiting(pool, 1)
  await erasing.query('select pg_advisory_unlock_all()')
  erasing.release()

  expect(idle.streams['evaluations']).toMatchObject({ hydrated: 0, vanished: 0 })
  expect((await marking).streams['evaluations']).toMatchObject({ hydrated: 0, vanished: 1 })
})

/** Waits until this number of sessions wait for the erasure lock. */
async function waiting(pool: pg.Pool, count: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      `select from ${databaseLocks} where locktype = 'advisory' and classid = $1 and not granted`,
      [lockClass.erasure],
    )
    if (rows.length >= count) return
    await sleep(20)
  }
}

test('a rooftop that moves to another dealer group brings no customer back', {
  tags: 'ci',
}, async () => {
  const nameless = { ...jane, email: null, phone: null, address: null }
  const world = worldOf({
    evaluations: [
      anEvaluation({
        evalId: 1,
        createdAt,
        customer: nameless,
        notes: 'Jane Ann Citizen called',
        edits: [{ at: '2026-03-10T12:00:00Z', patch: { finalPrice: 17_000 } }],
      }),
    ],
  })
  await using fixture = await openFixture({
    sandbox: { world, now },
    sync: { start: '2026-03-01' },
  })
  await fixture.night()
  await eraseIn(fixture, byEval(1))
  const rooftops = fixture.config.rooftops.map((rooftop) => ({ ...rooftop, group: 'sold-to' }))

  const night = await fixture.nightAfter(1, { config: { ...fixture.config, rooftops } })

  expect(night.streams['evaluations']).toMatchObject({ updated: 1 })
  expect(await customersOf(fixture.database.pool)).toEqual({ 1: null })
  expect(await janesLines(fixture.database.pool)).toEqual([])
})

test('a stock list brings no erased contact back, and an equal stock number stays', async () => {
  await using stock = await openImportFixture()
  const { pool, config } = stock
  const fixture = { context: { pool }, config } as unknown as Fixture
  await eraseIn(fixture, byPhone)
  await eraseIn(fixture, byEmail)
  const rows = (price: number) =>
    [
      'Prepared for jane.citizen@example.org',
      'Stock No,Make,Model,Year,Price,VIN,Comments',
      `S1,Ford,Ranger,2019,${price},,call 0412 345 678`,
      `0412345678,Ford,Focus,2019,${price},,"jane.citizen@example.org, or al@example.org"`,
      `S3,Ford,Focus,2019,x,,JANE.CITIZEN@EXAMPLE.ORG`,
    ].join('\n')

  const first = await stock.import(rows(21_000))
  const second = await stock.import(rows(22_000))

  const texts = janesTexts.filter((text) => text !== '0412345678')
  expect(linesWith(await dumpOf(pool), texts)).toEqual([])
  expect(first).toMatchObject({ accepted: 3, added: 3 })
  expect(second).toMatchObject({ accepted: 3, updated: 2 })
  const units = await stock.rows('select stock_no, extras from core.stock_unit order by 1')
  expect(units).toEqual([
    { stock_no: '0412345678', extras: { notes: '[erased], or al@example.org' } },
    { stock_no: 'S1', extras: { notes: 'call [erased]' } },
    { stock_no: 'S3', extras: { notes: '[erased]' } },
  ])
})

test.each(someOf([200, 500], 1))(
  'what an answer of %i quotes is stored without the erased customer',
  { tags: 'ci' },
  async (status) => {
    await using fixture = await pricedFixture([{ evalId: 1, customer: jane }, { evalId: 2 }])
    const { pool } = fixture.database
    await fixture.night()
    await eraseIn(fixture, byEval(1))
    fixture.sandbox.faults.add({
      match: { path: pricingPath, evalId: 1 },
      fault: { kind: 'status', status, body: { error: 'no price for Jane Citizen' } },
    })

    await fixture.nightAfter(1)

    const { rows } = await pool.query(`
      select detail as text from ops.enrichment_state where detail is not null
      union all select issues::text from ops.quarantine`)
    expect(rows).toEqual([{ text: expect.stringContaining('no price for [erased]') }])
    expect(await janesLines(pool)).toEqual([])
  },
)

test('an answer or a list item without an evaluation is stored without an erased contact', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({
    sandbox: { world: worldOf({ evaluations: [anEvaluation({ evalId: 1, createdAt })] }), now },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  const { wire } = fixture.config
  await fixture.night()
  await eraseIn(fixture, byEmail)
  const { rows } = await pool.query<{ id: number; groupId: number }>(
    'select rooftop_id as id, group_id as "groupId" from core.rooftop',
  )
  const { id: rooftopId, groupId } = rows[0]!
  const text = JSON.stringify([{ EvalID: null, Notes: 'Jane Citizen, jane.citizen@example.org' }])
  const harmless = '[{"EvalID":null,"Notes":"al@example.org"}]'

  const answer = await inTransaction(pool, async (tx) => {
    const scope = { stream: 'evaluations', rooftopId, runId: 1 }
    const item = { issues: [{ path: '$', message: 'no EvalID' }], window: null }
    await quarantineRecords(tx, scope, [
      { ...item, naturalKey: 'item 1', payload: text },
      { ...item, naturalKey: 'item 2', payload: harmless },
    ])
    const about = { groupId, evalId: null }
    return await screenAnswer(tx.db, { text, endpoint: 'lookup' }, about, wire.appraisal)
  })

  const quarantined = await pool.query('select payload from ops.quarantine order by natural_key')
  expect(quarantined.rows).toEqual([{ payload: '[erased]' }, { payload: harmless }])
  expect(answer).toBe('[{"EvalID":null,"Notes":"Jane Citizen, [erased]"}]')
})
