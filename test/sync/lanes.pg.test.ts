import { expect, test, vi } from 'vitest'
import { BusyError } from '#src/errors.ts'
import { allStreams } from '#src/streams/all.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { runWorker } from '#src/sync/run/run-worker.ts'
import { lanePriority, requeueLost } from '#src/sync/run/work-queue.ts'
import { until } from '../support/child.ts'
import { runNight } from '../support/fixture.ts'
import {
  another,
  backfillUnderWay,
  detachedBackfill,
  faultsOf,
  history,
  lanesFixture,
  runsOf,
} from './lanes-fixture.ts'

// Every test has several runs with many slices, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

test('a sync during a backfill starts at once and ends first, and the backfill continues to its end', async () => {
  await using fixture = await lanesFixture()
  await using second = await another(fixture)
  const slow = fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 30 },
  })
  // Long enough that much is left when the sync ends, also on a loaded machine.
  const from = Date.UTC(2025, 8, 1) / 1000
  const backfill = await backfillUnderWay(fixture, fixture.context, 3, from)

  const night = await runNight(second)

  const [atItsEnd] = await runsOf(fixture)
  slow.remove()
  const { report } = await backfill.ended
  expect(night.status).toBe('ok')
  expect(atItsEnd!.status).toBe('running')
  expect(report!.status).toBe('ok')
  const [whole] = await runsOf(fixture)
  expect(whole!.fence).toBeGreaterThan(atItsEnd!.fence + 4)
  expect(await faultsOf(fixture, from)).toEqual([])
})

test('a second backfill of the same rooftops is refused, and one of another lane is not', {
  tags: 'ci',
}, async () => {
  await using fixture = await lanesFixture()
  await using second = await another(fixture)
  const backfill = await backfillUnderWay(fixture, fixture.context)

  const refused = await runStreams(second, history(fixture)).catch((error: unknown) => error)
  const other = await runStreams(second, history(fixture, 'event'))

  expect(refused).toBeInstanceOf(BusyError)
  expect(other.status).toBe('ok')
  expect((await backfill.ended).report!.status).toBe('ok')
  expect((await runsOf(fixture)).map(({ lane }) => lane)).toEqual(['background', 'event'])
  expect(await faultsOf(fixture)).toEqual([])
})

test('queued backfill work waits for a sync, and continues after the sync is done with the rooftop', async () => {
  await using fixture = await lanesFixture()
  const { pool } = fixture.database
  await detachedBackfill(fixture, fixture.context)
  const lanes = ['background', 'foreground', 'event'] as const
  const queued = async () =>
    (
      await pool.query(
        `select priority from pgboss.job
         where state < 'active' and data ->> 'stream' = 'evaluations' order by singleton_key`,
      )
    ).rows.map(({ priority }) => lanes.findLast((lane) => lanePriority[lane] <= priority))
  const before = await queued()
  let during: unknown
  const crashPoint = (name: string) => {
    if (name === 'slice-claimed') during ??= queued()
  }

  const night = await runNight({ ...fixture.context, crashPoint })

  expect(before).toEqual(['background', 'background'])
  expect(await during).not.toContain('background')
  expect(night.status).toBe('ok')
  expect(await queued()).toEqual(['background', 'background'])
})

test('a detached backfill is alive without a process; workers run it and end it', {
  tags: 'ci',
}, async () => {
  await using fixture = await lanesFixture()
  const stop = new AbortController()
  await using first = await another(fixture, stop.signal)
  await using second = await another(fixture, stop.signal)
  await detachedBackfill(fixture, fixture.context)
  const refused = await runStreams(fixture.context, history(fixture)).catch(
    (error: unknown) => error,
  )

  const workers = [first, second].map((context) =>
    runWorker(context, { streams: allStreams, concurrency: 2 }),
  )
  await until(async () => (await runsOf(fixture))[0]!.status !== 'running')
  stop.abort()

  expect(await Promise.all(workers)).toEqual([true, true])
  expect(refused).toMatchObject({ message: expect.stringMatching(/backfill --pause/) })
  expect((await runsOf(fixture))[0]).toMatchObject({ lane: 'background', status: 'ok' })
  expect(await faultsOf(fixture)).toEqual([])
})

test('a stopped sync leaves its work to the backfill beside it', { tags: 'ci' }, async () => {
  await using fixture = await lanesFixture()
  const stop = new AbortController()
  await using second = await another(fixture, stop.signal)
  fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 20 },
  })
  const backfill = await backfillUnderWay(fixture, fixture.context)
  // Before it gets a slice of its own, since the backfill's process may run all of them.
  const crashPoint = (name: string) => {
    if (name === 'run-started') stop.abort()
  }

  await runNight({ ...second, crashPoint })

  expect((await backfill.ended).report!.status).toBe('ok')
  expect((await runsOf(fixture)).map(({ status }) => status)).toEqual(['ok', 'stopped'])
  expect(await faultsOf(fixture)).toEqual([])
})

test('work whose message was lost from the queue is enqueued again', { tags: 'ci' }, async () => {
  await using fixture = await lanesFixture()
  const { pool } = fixture.database
  await detachedBackfill(fixture, fixture.context)
  await pool.query("delete from pgboss.job where data ->> 'stream' = 'evaluations'")
  const stop = new AbortController()
  await using worker = await another(fixture, stop.signal)

  const working = runWorker(worker, { streams: allStreams, concurrency: 4 })
  await until(async () => (await runsOf(fixture))[0]!.status !== 'running')
  stop.abort()

  await working
  expect((await runsOf(fixture))[0]!.status).toBe('ok')
  expect(await faultsOf(fixture)).toEqual([])
})

test('of all open work only what the queue has lost is enqueued again, by one process at a time', async () => {
  await using fixture = await lanesFixture()
  const { pool } = fixture.database
  const { context } = fixture
  await detachedBackfill(fixture, context)
  await pool.query(
    `delete from pgboss.job where id = (select id from pgboss.job where data ->> 'stream' = 'evaluations' limit 1)`,
  )
  const other = await pool.connect()
  await other.query('select pg_advisory_lock(7311, 0)')

  const besideAnother = await requeueLost(context, null)
  await other.query('select pg_advisory_unlock(7311, 0)')
  other.release()

  expect(besideAnother).toBe(0)
  expect(await requeueLost(context, null)).toBe(1)
  expect(await requeueLost(context, null)).toBe(0)
  const { rows } = await pool.query(
    `select from pgboss.job where data ->> 'stream' = 'evaluations'`,
  )
  expect(rows).toHaveLength(2)
})
