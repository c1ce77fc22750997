import type pg from 'pg'
import { expect, test } from 'vitest'
import { BusyError, FencedError } from '#src/errors.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { startDetached } from '#src/sync/run/run-streams.ts'
import { enqueue } from '#src/sync/run/work-queue.ts'
import { lockGraceSeconds } from '#src/warehouse/db/held-lock.ts'
import { type Fixture, openFixture, openSecondContext, runNight } from '../support/fixture.ts'
import { databaseLocks } from '../support/postgres.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-10T02:00:00Z')

async function smallFixture(): Promise<Fixture> {
  return await openFixture({ sandbox: { now, rooftops: 2, evaluations: 40, days: 5 } })
}

async function faults({ sandbox, database }: Fixture): Promise<string[]> {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(database.pool, 'rooftop'))
}

async function runs(pool: pg.Pool) {
  const { rows } = await pool.query<{ status: string }>(
    'select status from ops.run order by run_id',
  )
  return rows.map(({ status }) => status)
}

/** A run that has read its evaluations, but cannot write them before the gate opens. */
async function heldRun(fixture: Fixture) {
  const { pool } = fixture.database
  const gate = await pool.connect()
  await gate.query('begin')
  await gate.query('lock table core.evaluation in share mode')
  const finished = runNight(fixture.context).then(
    (report) => ({ report, error: null }),
    (error: unknown) => ({ report: null, error }),
  )
  await expect.poll(() => waiting(pool), { timeout: 30_000 }).toBeGreaterThan(0)
  const open = async () => {
    await gate.query('commit')
    gate.release()
  }
  return { finished, open }
}

async function waiting(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ waiting: number }>(
    `select count(*)::int as waiting from ${databaseLocks}
     where not granted and relation = 'core.evaluation'::regclass`,
  )
  return rows[0]!.waiting
}

/** Ends the session that holds a run's lock, as the death of its process does. */
async function endHolder(pool: pg.Pool): Promise<void> {
  // Soon after a start of the server a take-over waits, and the holder would have its lock again.
  await pool.query(
    'select pg_sleep(greatest(0, $1 - extract(epoch from now() - pg_postmaster_start_time())::float8))',
    [lockGraceSeconds],
  )
  await pool.query(
    `select pg_terminate_backend(pid, 5000) from ${databaseLocks}
     where locktype = 'advisory' and classid = 7300`,
  )
}

test('a second run beside a live one is refused and starts nothing', async () => {
  await using fixture = await smallFixture()
  await using second = await openSecondContext(fixture)
  const first = await heldRun(fixture)

  const refused = await runNight(second).catch((error: unknown) => error)

  await first.open()
  const { report } = await first.finished
  expect(refused).toBeInstanceOf(BusyError)
  expect(report!.status).toBe('ok')
  expect(await runs(fixture.database.pool)).toEqual(['ok'])
  expect(fixture.sandbox.requests.count('/geteval')).toBe(report!.streams['evaluations']!.hydrated)
  expect(await faults(fixture)).toEqual([])
})

test('the work of a run whose process has died is taken over, and the old run writes nothing', async () => {
  await using fixture = await smallFixture()
  await using second = await openSecondContext(fixture)
  const first = await heldRun(fixture)
  await endHolder(fixture.database.pool)
  const crashPoint = (name: string) => {
    if (name === 'run-started') void first.open()
  }

  const report = await runNight({ ...second, crashPoint })

  expect(report.status).toBe('ok')
  expect(await faults(fixture)).toEqual([])
  expect((await first.finished).error).toBeInstanceOf(FencedError)
  expect(await runs(fixture.database.pool)).toEqual(['abandoned', 'ok'])
  const { rows } = await fixture.database.pool.query('select distinct run_id from core.evaluation')
  expect(rows).toEqual([{ run_id: report.runId }])
})

test('work that a dead run left in the queue blocks no other run', async () => {
  await using fixture = await smallFixture()
  const { pool } = fixture.database
  await fixture.night()
  const { rows } = await pool.query<{ run_id: number }>(
    `insert into ops.run (command, arguments, source_started_at)
     values ('sync', '{"mode": "sync", "from": 0, "until": null}', now()) returning run_id`,
  )
  const runId = rows[0]!.run_id
  await pool.query(
    `insert into ops.run_stream (run_id, rooftop_id, stream) select $1, rooftop_id, 'evaluations' from core.rooftop`,
    [runId],
  )
  await enqueue(
    fixture.context,
    fixture.config.rooftops.map(({ uid }) => ({ stream: 'evaluations', rooftopUid: uid })),
  )
  await fixture.context.queue.take(1)

  const report = await fixture.night()

  expect(report.status).toBe('ok')
  expect(await runs(pool)).toEqual(['ok', 'abandoned', 'ok'])
})

test('a take-over revokes the claims of the dead run alone', async () => {
  await using fixture = await openFixture({ sandbox: { now, rooftops: 3, evaluations: 0 } })
  const { database, context, config } = fixture
  const { pool } = database
  await fixture.night()
  const running = async (lane: string, rooftops: number[], isDetached: boolean) =>
    await pool.query(
      `with run as (
         insert into ops.run (command, arguments, lane, is_detached, source_started_at)
         values ('test', '{"mode": "backfill", "from": 0, "until": null}', $1, $3, now()) returning run_id)
       insert into ops.run_stream (run_id, rooftop_id, stream)
       select run_id, rooftop_id, 'evaluations' from run, unnest($2::int[]) as rooftop_id`,
      [lane, rooftops, isDetached],
    )
  // At the second rooftop both have work; the claim is of the higher lane.
  await running('background', [1, 2], false)
  await running('foreground', [2, 3], true)
  const keys = config.rooftops.map(({ uid }) => ({ stream: 'evaluations', rooftopUid: uid }))
  await enqueue(context, keys)
  const claims = await context.queue.take(3)

  await startDetached(context, {
    plan: { command: 'backfill', mode: 'backfill', lane: 'background', from: 0, until: null },
    streams: [evaluations],
    rooftops: config.rooftops,
  })

  const { rows } = await pool.query<{ id: string; uid: string; state: string }>(
    `select id, rooftop_uid as uid, state from pgboss.job join core.rooftop on rooftop_uid = data ->> 'rooftopUid'
     where state <= 'active' order by rooftop_id`,
  )
  const claimIds = new Map(claims.map(({ id, key }) => [key.rooftopUid, id]))
  const left = rows.map(({ id, uid, state }) => [state, claimIds.get(uid) === id])
  expect(left).toEqual([
    ['created', false],
    ['active', true],
    ['active', true],
  ])
})

test('a worker whose work was dropped while it worked writes nothing', { tags: 'ci' }, async () => {
  await using fixture = await smallFixture()
  const { pool } = fixture.database
  const controller = new AbortController()
  const dropped: Promise<unknown>[] = []
  // Between the rows and the fence: the last moment at which the work can be taken over.
  const crashPoint = (name: string) => {
    if (name !== 'before-commit') return
    dropped.push(pool.query("update ops.run set status = 'abandoned' where status = 'running'"))
  }

  const outcome = await runNight({
    ...fixture.context,
    crashPoint,
    signal: controller.signal,
  }).catch((error: unknown) => error)
  // One that is late would drop the next run.
  await Promise.all(dropped)

  expect(outcome).toBeInstanceOf(FencedError)
  expect(dropped.length).toBeGreaterThan(0)
  expect(await warehouseTruth(pool, 'rooftop')).toEqual([])
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
})
