import type pg from 'pg'
import { expect, test, vi } from 'vitest'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import type { RunPlan } from '#src/sync/run/run-ledger.ts'
import { endFinishedRuns } from '#src/sync/run/run-lock.ts'
import { reportRun } from '#src/sync/run/run-report.ts'
import { runStreams, runToEnd } from '#src/sync/run/run-streams.ts'
import { startRun } from '#src/sync/run/start-run.ts'
import { someOf } from '../support/cases.ts'
import { until } from '../support/child.ts'
import { openSecondContext, runNight } from '../support/fixture.ts'
import { databaseLocks, untilFreeLocksCount } from '../support/postgres.ts'
import { history, lanesFixture, runsOf } from './lanes-fixture.ts'

vi.setConfig({ testTimeout: 180_000 })

/** Marks all work of a run as done by others, this many seconds ago. */
async function allDone(pool: pg.Pool, secondsAgo: number): Promise<void> {
  const then = `clock_timestamp() - interval '${secondsAgo} seconds'`
  await pool.query(`update ops.run_stream set status = 'ok', finished_at = ${then}`)
  await pool.query(`update ops.run set started_at = ${then}`)
}

test('a run whose process died after others had done its work is ended; a live or recently active one is not', async () => {
  await using fixture = await lanesFixture()
  const { pool } = fixture.database
  const { db, config } = fixture.context
  const rooftops = await registerRooftops(db, config.rooftops)
  const { lock } = await startRun(fixture.context, history(fixture, 'foreground'), rooftops, 0)
  const status = async () => (await runsOf(fixture))[0]!.status
  const endAndReadStatus = async () => {
    await endFinishedRuns(db)
    return await status()
  }
  await untilFreeLocksCount(pool)

  await allDone(pool, 120)
  expect(await endAndReadStatus()).toBe('running')
  lock!.release()
  await until(async () => {
    const { rows } = await pool.query(
      `select from ${databaseLocks} where locktype = 'advisory' and classid = 7300`,
    )
    return rows.length === 0
  })
  await allDone(pool, 30)
  expect(await endAndReadStatus()).toBe('running')
  await pool.query("update ops.run_stream set status = 'waiting', finished_at = null")
  await pool.query("update ops.run set started_at = now() - interval '1 day'")
  expect(await endAndReadStatus()).toBe('running')
  await allDone(pool, 120)
  await runNight(fixture.context)

  expect((await runsOf(fixture)).map((run) => run.status)).toEqual(['ok', 'ok'])
})

/** Blocks the end of a run after its work is done; only the gate's session may set a status meanwhile. */
async function gateAtTheEnd(pool: pg.Pool) {
  await pool.query(`
    create function public.gate() returns trigger language plpgsql as $$ begin
      if current_setting('test.is_gate', true) is distinct from 'yes' and exists (select from ops.run_stream)
        and not exists (select from ops.run_stream where status in ('waiting', 'running')) then
        perform pg_advisory_xact_lock(1, 1);
      end if;
      return null;
    end $$`)
  await pool.query(
    'create trigger gate before update of status on ops.run for each statement execute function public.gate()',
  )
  const gate = await pool.connect()
  await gate.query("select pg_advisory_lock(1, 1), set_config('test.is_gate', 'yes', false)")
  const isReached = async () => {
    const { rows } = await pool.query(
      `select from ${databaseLocks} where not granted and classid = 1 and objid = 1`,
    )
    return rows.length > 0
  }
  return { gate, isReached }
}

test.each(
  someOf(
    [
      ['paused', 'paused'],
      ['ok', 'done'],
    ] as const,
    1,
  ),
)(
  'a run that is set to %s while it ends is reported as %s',
  { tags: 'ci' },
  async (status, end) => {
    await using fixture = await lanesFixture()
    await using second = await openSecondContext(fixture)
    const { gate, isReached } = await gateAtTheEnd(fixture.database.pool)
    const ended = runToEnd(second, history(fixture))
    await until(isReached)
    await gate.query('update ops.run set status = $1, finished_at = now()', [status])
    await gate.query('select pg_advisory_unlock(1, 1)')

    const came = await ended

    gate.release(true)
    expect(came.end).toBe(end)
    expect(came.report.status).toBe('ok')
    expect(came.report.finishedAt).not.toBeNull()
    expect((await runsOf(fixture))[0]!.status).toBe(status)
  },
)

test('the error of a run says who tries again', async () => {
  await using fixture = await lanesFixture()
  const { context, config, sandbox } = fixture
  await fixture.night()
  sandbox.faults.add({ fault: { kind: 'status', status: 503 }, match: { path: '/getevallist' } })
  const errorOf = async (plan: Partial<RunPlan>) => {
    const request = history(fixture)
    const { rooftops } = await runStreams(context, {
      ...request,
      plan: { ...request.plan, ...plan },
    })
    return rooftops[config.rooftops[0]!.uid]!.error
  }

  expect(await errorOf({ mode: 'sync' })).toMatch(/Nothing is lost: the next sync tries again\.$/)
  expect(await errorOf({})).toMatch(
    /Nothing is lost: run the same backfill again for what is missing; the next sync tries what is in quarantine\.$/,
  )
  // The backfill of a job lists what a sync lists too.
  expect(await errorOf({ lane: 'foreground' })).toMatch(/: the next sync tries again\.$/)
})

test('a run has the same status whichever process ends it', async () => {
  await using fixture = await lanesFixture()
  const { pool } = fixture.database
  const { db, config } = fixture.context
  const rooftops = await registerRooftops(db, config.rooftops)
  const idle = { status: 'ok', requests: 0, listed: 0 }
  const busy = { status: 'ok', requests: 3, listed: 2 }
  const failed = { status: 'failed', requests: 1, listed: 0 }
  const cases = [
    { streams: [], status: 'ok' },
    { streams: [idle, idle], status: 'ok' },
    { streams: [busy, idle], status: 'ok' },
    { streams: [failed, idle], status: 'failed' },
    { streams: [failed, failed], status: 'failed' },
    { streams: [failed, busy], status: 'partial' },
    { streams: [{ ...idle, status: 'parked' }, idle], status: 'failed' },
    { streams: [failed, { ...failed, status: 'partial' }], status: 'partial' },
  ]
  await untilFreeLocksCount(pool)

  const found = []
  for (const { streams } of cases) {
    const { rows } = await pool.query<{ id: number }>(
      `insert into ops.run (command, status, is_detached, source_started_at, started_at)
       values ('sync', 'running', true, now(), now() - interval '5 minutes') returning run_id as id`,
    )
    const runId = rows[0]!.id
    for (const [index, { status, requests, listed }] of streams.entries())
      await pool.query(
        `insert into ops.run_stream (run_id, rooftop_id, stream, status, requests, listed, finished_at)
         values ($1, $2, 'evaluations', $3, $4, $5, now() - interval '4 minutes')`,
        [runId, rooftops[index]!.id, status, requests, listed],
      )
    const report = await reportRun(db, runId, rooftops)
    await endFinishedRuns(db)
    const { rows: ended } = await pool.query('select status from ops.run where run_id = $1', [
      runId,
    ])
    found.push({ streams, reported: report.status, ended: ended[0].status })
  }

  expect(found).toEqual(
    cases.map(({ streams, status }) => ({ streams, reported: status, ended: status })),
  )
})
