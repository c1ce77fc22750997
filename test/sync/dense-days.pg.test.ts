import { expect, test } from 'vitest'
import type { World } from '#src/sandbox/world.ts'
import { evaluations as stream } from '#src/streams/evaluations/evaluations.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { coverageFaults } from '../support/coverage-faults.ts'
import { type Fixture, openFixture, runNight } from '../support/fixture.ts'
import { verifyStream } from '../support/verify-stream.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-10T02:00:00Z')
const moved = Date.parse('2026-03-01T00:00:00Z')
const start = '2026-02-28'
const spread = 50
const inOneSecond = 23
const all = spread + inOneSecond

/** Far below the 50 records of a day and the 23 of a second. */
const sliceLimits = { records: 4, recordsPerPart: 6, bodies: 1_000_000 }

/** A rooftop with imported history: spread over two days, and then 23 evaluations in one second. */
function movedIn(notes = ''): World {
  const second = moved + 2 * 86_400_000
  const times = [
    ...Array.from({ length: spread }, (_, index) => moved + index * 3_400_000),
    ...Array.from({ length: inOneSecond }, () => second),
  ]
  return worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: times.map((at, index) =>
      anEvaluation({
        ...{ evalId: 1000 + index, rooftopUid: 'north', notes },
        createdAt: new Date(at),
      }),
    ),
    keys: [aKey({ rooftopUids: ['north'] })],
  })
}

async function denseFixture(world = movedIn(), listCarriesUpdatedAt = true): Promise<Fixture> {
  return await openFixture({ sandbox: { world, now, listCarriesUpdatedAt }, sync: { start } })
}

/** Faults in rows, certificates and coverage; must be empty. */
async function faultsOf({ sandbox, database, context, config }: Fixture): Promise<unknown[]> {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  const rows = differences(truth, await warehouseTruth(database.pool, 'rooftop'))
  const settled = new Date('2026-03-06T00:00:00Z')
  const windows = await coverageFaults(database.pool, {
    from: new Date(start),
    until: now,
    settled,
  })
  const [rooftop] = await findRooftops(context.db, config.rooftops)
  const found = await verifyStream(context.db, stream.records!, rooftop!, config.sync, now)
  const { rows: sums } = await database.pool.query('select * from core.agg_differences()')
  return [...rows, ...windows, ...(isProved(found) ? [] : [found]), ...sums]
}

/** How many payloads each transaction wrote. */
async function payloadsBySlice({ database }: Fixture): Promise<number[]> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::int from raw.payload where endpoint = 'geteval' group by xmin::text order by 1 desc`,
  )
  return rows.map(({ count }) => count)
}

const reads = ({ sandbox }: Fixture) => sandbox.requests.count('/geteval')

test('days, and a single second, with more records than a slice are loaded in slices, and each record is read once', async () => {
  await using fixture = await denseFixture()

  const report = await fixture.night({ sliceLimits })

  const { evaluations } = report.streams
  expect(report.status).toBe('ok')
  expect(evaluations).toMatchObject({ listed: all, inserted: all, unchanged: 0, hydrated: all })
  expect(reads(fixture)).toBe(all)
  expect(Math.max(...(await payloadsBySlice(fixture)))).toBeLessThanOrEqual(10)
  expect(await faultsOf(fixture)).toEqual([])
})

test('a large window is listed once, and not again for every slice', { tags: 'ci' }, async () => {
  const lists: number[] = []
  for (const records of [1_000_000, sliceLimits.records]) {
    await using fixture = await denseFixture()
    await fixture.night({ sliceLimits: { ...sliceLimits, records } })
    lists.push(fixture.sandbox.requests.count('/getevallist'))
  }

  expect(lists[1]! / lists[0]!).toBeLessThan(1.2)
})

test('days far above the list cap are loaded completely', { tags: 'ci' }, async () => {
  await using fixture = await denseFixture()
  fixture.sandbox.faults.add({ fault: { kind: 'listCap', cap: 24, order: 'newest' } })

  const report = await fixture.night({ sliceLimits })

  expect(report.streams['evaluations']).toMatchObject({ inserted: all, quarantined: 0 })
  expect(reads(fixture)).toBe(all)
  expect(await faultsOf(fixture)).toEqual([])
})

test('a slice stops reading when large bodies reach its limit', { tags: 'ci' }, async () => {
  const notes = 'x'.repeat(900)
  await using fixture = await denseFixture(movedIn(notes))
  const ample = { records: 500, recordsPerPart: 1000, bodies: 9_000 }

  const report = await fixture.night({ sliceLimits: ample })

  // This many reads may be in flight when the last body arrives.
  const underWay = 2 * fixture.config.http.concurrency
  expect(report.status).toBe('ok')
  expect(reads(fixture)).toBe(all)
  expect(Math.max(...(await payloadsBySlice(fixture)))).toBeLessThanOrEqual(9 + underWay)
  expect(await faultsOf(fixture)).toEqual([])
})

test('late records of a covered window are loaded in slices, and it stays covered until all are loaded', {
  tags: 'ci',
}, async () => {
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: [],
    keys: [aKey({ rooftopUids: ['north'] })],
  })
  await using fixture = await denseFixture(world)
  await fixture.night()
  for (const evaluation of movedIn().evaluations()) world.add(evaluation)
  const { pool } = fixture.database
  const covered = async () =>
    (await pool.query('select covered::text, wanted::text from ops.coverage')).rows
  const before = await covered()
  let slices = 0
  const crashPoint = (name: string) => {
    if (name === 'rows-written' && ++slices === 4) throw new Error('broken off')
  }

  await fixture.night({ sliceLimits, crashPoint })

  expect((await payloadsBySlice(fixture)).length).toBeGreaterThan(1)
  expect(await covered()).toEqual(before)
  expect(await fixture.night({ sliceLimits })).toMatchObject({ status: 'ok' })
  expect(Math.max(...(await payloadsBySlice(fixture)))).toBeLessThanOrEqual(10)
  expect(await faultsOf(fixture)).toEqual([])
})

test('records that do not fit are counted in the certificate of a second that takes many slices', {
  tags: 'ci',
}, async () => {
  await using fixture = await denseFixture()
  for (const evalId of [1051, 1060, 1072])
    fixture.sandbox.world.poison(evalId, { UpdatedAt: 'never' })

  const report = await fixture.night({ sliceLimits })

  expect(report.streams['evaluations']).toMatchObject({
    ...{ listed: all, inserted: all - 3, quarantined: 3, unchanged: 0 },
  })
  expect(reads(fixture)).toBe(all)
  const { rows } = await fixture.database.pool.query(
    'select listed, loaded, quarantined, vanished from ops.window_certificate order by listed desc limit 1',
  )
  expect(rows).toEqual([{ listed: 23, loaded: 20, quarantined: 3, vanished: 0 }])
})

test('a run that is interrupted in the middle of a day or a second continues there', async () => {
  for (const slice of [3, 12]) {
    await using fixture = await denseFixture()
    let slices = 0
    const crashPoint = (name: string) => {
      if (name === 'rows-written' && ++slices === slice) throw new Error('broken off')
    }

    await fixture.night({ sliceLimits, crashPoint })
    const stored = (await payloadsBySlice(fixture)).reduce((sum, count) => sum + count, 0)
    const lost = reads(fixture) - stored
    const report = await fixture.night({ sliceLimits })

    expect(stored).toBeGreaterThan(4)
    expect(lost).toBeLessThanOrEqual(10)
    expect(report.status).toBe('ok')
    expect(reads(fixture)).toBe(all + lost)
    expect(await faultsOf(fixture)).toEqual([])
  }
})

test('work that is taken over in the middle of a second commits nothing more, and only the rest is read again', {
  tags: 'ci',
}, async () => {
  await using fixture = await denseFixture(movedIn(), false)
  const { pool } = fixture.database
  let read = 0
  // Simulates another worker that claims the work while this one reads.
  const crashPoint = (name: string) => {
    if (name !== 'record-read' || ++read !== 15) return
    void pool.query(
      `update pgboss.job set retry_count = retry_count + 1, state = 'retry', start_after = now()
       where name like 'rooftop.sync.%' and state = 'active'`,
    )
  }

  const report = await runNight({ ...fixture.context, sliceLimits, crashPoint }, [stream])

  expect(report.streams['evaluations']).toMatchObject({ listed: all, inserted: all, unchanged: 0 })
  expect(reads(fixture)).toBeGreaterThan(all)
  expect(reads(fixture)).toBeLessThanOrEqual(all + 10)
  expect(await faultsOf(fixture)).toEqual([])
})

test('a second that takes many slices is read again completely, although the budget is smaller', {
  tags: 'ci',
}, async () => {
  const evaluations = Array.from({ length: inOneSecond }, (_, index) =>
    anEvaluation({ evalId: 1000 + index, rooftopUid: 'north', createdAt: new Date(moved) }),
  )
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations,
    keys: [aKey({ rooftopUids: ['north'] })],
  })
  await using fixture = await openFixture({
    sandbox: { world, now, listCarriesUpdatedAt: false },
    sync: { start, rereadBudget: 5 },
  })
  await fixture.night({ sliceLimits })
  fixture.sandbox.requests.reset()

  await fixture.nightAfter(1, { sliceLimits })

  expect(reads(fixture)).toBe(inOneSecond)
  const { rows } = await fixture.database.pool.query(
    'select reread_at = listed_at as "isReread" from ops.window_certificate where listed > 0',
  )
  expect(rows).toEqual([{ isReread: true }])
})
