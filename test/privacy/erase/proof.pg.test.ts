import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import { type Fixture, openLoadedFixture } from '../../support/fixture.ts'
import { contentDifferences, readExactContent } from '../../support/warehouse-content.ts'
import { dumpOf, linesWith } from './dump.ts'
import {
  byEmail,
  byEval,
  byPhone,
  eraseIn,
  janesOptions,
  janesTexts,
  janesWorld,
  openJanesFixture,
} from './erase-fixture.ts'
import { factsOf, rowsOf } from './facts.ts'

const others = [1005, 1006, 1007, 1008]

async function janesLines({ database }: Fixture): Promise<string[]> {
  return linesWith(await dumpOf(database.pool), janesTexts)
}

async function runMode(fixture: Fixture, mode: 'backfill' | 'replay' | 'retry') {
  const { context, config, sandbox } = fixture
  const from = toUnixSeconds(config.sync.start)
  const until = mode === 'backfill' ? Math.floor(sandbox.clock.now().getTime() / 1000) : null
  return await runStreams(context, {
    plan: { command: mode, mode, from, until },
    streams: [evaluations],
    rooftops: config.rooftops,
  })
}

/** Several nights, so that bodies of several versions are stored. */
async function openEditedFixture(): Promise<Fixture> {
  const edits = [
    { at: '2026-03-11T03:00:00Z', patch: { customer: { phone: '+61412345678' } } },
    { at: '2026-03-12T03:00:00Z', patch: { customer: { postcode: '3000' } } },
    { at: '2026-03-13T03:00:00Z', patch: { finalPrice: 19500, notes: 'Citizen, Jane Ann' } },
    { at: '2026-03-14T03:00:00Z', patch: { customer: { address: null } } },
    { at: '2026-03-15T03:00:00Z', patch: { reconditioning: [] } },
  ].map(({ at, patch }) => ({ at: new Date(at), patch }))
  const [first, ...rest] = janesWorld()
  const options = janesOptions([{ ...first!, edits }, ...rest], [evaluations])
  return await openLoadedFixture('edited', options, async ({ night, nightAfter }) => {
    await night()
    for (let day = 1; day < 6; day++) await nightAfter(1)
  })
}

test('a dump has nothing of an erased customer, in any letter case', async () => {
  await using fixture = await openJanesFixture()
  await fixture.night()
  expect((await janesLines(fixture)).length).toBeGreaterThan(8)

  const receipt = await eraseIn(fixture, byPhone)

  expect(await janesLines(fixture)).toEqual([])
  expect(receipt.evaluations.map(({ evalId }) => evalId)).toEqual([1001, 1002, 1003])
  expect(receipt.mentionedIn.map(({ evalId }) => evalId)).toEqual([1004])
  expect(receipt.rescan).toMatchObject({ left: {}, others: {} })
})

test('counts, money and versions stay, and other customers are not touched', {
  tags: 'ci',
}, async () => {
  await using fixture = await openEditedFixture()
  const { pool } = fixture.database
  const [facts, untouched] = [await factsOf(pool), await rowsOf(pool, others)]

  await eraseIn(fixture, byPhone)

  expect(await factsOf(pool)).toEqual(facts)
  expect(await rowsOf(pool, others)).toEqual(untouched)
})

test('the next night writes nothing, and no night, backfill, replay or retry brings the customer back', async () => {
  await using fixture = await openEditedFixture()
  const { pool } = fixture.database
  await eraseIn(fixture, byPhone)
  const after = await rowsOf(pool, [1001, 1002, 1003, 1004])

  const night = await fixture.nightAfter(0)
  const written = await rowsOf(pool, [1001, 1002, 1003, 1004])
  const backfill = await runMode(fixture, 'backfill')
  const retry = await runMode(fixture, 'retry')

  expect(written).toEqual(after)
  for (const report of [night, backfill, retry])
    expect(report.streams['evaluations']).toMatchObject({ inserted: 0, updated: 0, quarantined: 0 })
  expect(await janesLines(fixture)).toEqual([])
})

test('a replay of the scrubbed bodies finds the same facts and the same versions', {
  tags: 'ci',
}, async () => {
  await using fixture = await openEditedFixture()
  const { pool } = fixture.database
  const facts = await factsOf(pool)
  await eraseIn(fixture, byPhone)
  const before = await readExactContent(pool)

  await runMode(fixture, 'replay')

  expect(facts['core.evaluation_version']!.length).toBeGreaterThan(12)
  expect(await factsOf(pool)).toEqual(facts)
  expect(contentDifferences(before, await readExactContent(pool))).toEqual([])
  expect(await janesLines(fixture)).toEqual([])
})

test('an edit at the source after the erasure is loaded without the customer', {
  tags: 'ci',
}, async () => {
  const [first, ...rest] = janesWorld()
  const edits = [
    { at: new Date('2026-03-10T09:00:00Z'), patch: { finalPrice: 18000 } },
    { at: new Date('2026-03-10T10:00:00Z'), patch: { notes: 'Jane Citizen: 0412 345 678' } },
  ]
  await using fixture = await openJanesFixture([{ ...first!, edits }, ...rest])
  await fixture.night()
  await eraseIn(fixture, byEval(1001))

  const report = await fixture.nightAfter(1)

  const { rows } = await fixture.database.pool.query(
    `select final_price::float as price, version_no, erased_at is not null as erased, customer_name, notes
     from core.evaluation join pii.evaluation_customer using (rooftop_id, eval_id) where eval_id = 1001`,
  )
  expect(report.streams['evaluations']).toMatchObject({ updated: 1 })
  expect(rows).toEqual([
    { price: 18000, version_no: 2, erased: true, customer_name: null, notes: null },
  ])
})

test('a second erase changes nothing and has a receipt', { tags: 'ci' }, async () => {
  await using fixture = await openEditedFixture()
  const { pool } = fixture.database
  const first = await eraseIn(fixture, byEmail)
  await eraseIn(fixture, byEval(1001))
  const before = await rowsOf(pool, [1001, 1002, 1003, 1004, ...others])

  const again = await eraseIn(fixture, byEmail)
  const byId = await eraseIn(fixture, byEval(1001))

  expect(await rowsOf(pool, [1001, 1002, 1003, 1004, ...others])).toEqual(before)
  for (const receipt of [again, byId])
    expect(receipt).toMatchObject({ tables: {}, suppressed: { evaluations: 0, contacts: 0 } })
  expect(again.erasedBefore).toBe(first.erasureId)
})

test('a dry run shows what would be erased and changes nothing', { tags: 'ci' }, async () => {
  await using fixture = await openJanesFixture()
  await fixture.night()
  const { pool } = fixture.database
  // The queue's monitor counts its own work, and each process writes a heartbeat.
  const dump = async () =>
    (await dumpOf(pool)).filter((line) => !/^(pgboss|ops\.rate_member)\b/.test(line))
  const before = await dump()

  const receipt = await eraseIn(fixture, byPhone, true)

  expect(await dump()).toEqual(before)
  expect(receipt).toMatchObject({ erasureId: null, suppressed: { evaluations: 4 } })
  expect(receipt.tables['pii.evaluation_customer']).toBe(4)
})

test('the receipt has no personal data', { tags: 'ci' }, async () => {
  await using fixture = await openJanesFixture()
  await fixture.night()

  const receipt = await eraseIn(fixture, byEmail)

  const { rows } = await fixture.database.pool.query('select receipt from pii.erasure')
  expect(rows).toEqual([{ receipt }])
  expect(linesWith([JSON.stringify(receipt)], [...janesTexts, 'Citizen', 'Richmond'])).toEqual([])
  expect(receipt.subject).toEqual({ kind: 'email', masked: 'J***@e***' })
})
