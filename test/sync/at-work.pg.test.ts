import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { users } from '#src/streams/users/users.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { touchRuns } from '#src/sync/run/run-ledger.ts'
import { isProved } from '#src/sync/verify/verify.ts'
import { streamSamples } from '#src/web/operations/warehouse-metrics.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { verifyStream } from '../support/verify-stream.ts'

const world = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 1, evaluations: 60, days: 9 }

/** What status, verify, metrics and marts report about the gaps and lateness of the rooftop's evaluations. */
async function reports({ context }: Fixture) {
  const { db, config, pool } = context
  const rooftops = await findRooftops(db, config.rooftops)
  const status = await readStatus(db, [users, evaluations], rooftops, config)
  const [own] = Object.values(status.rooftops)
  const verified = await verifyStream(
    db,
    evaluations.records!,
    rooftops[0]!,
    config.sync,
    new Date(),
  )
  const samples = await streamSamples(db, config)
  const gauge = (name: string) =>
    samples.find(({ gauge, labels }) => gauge === name && labels?.['stream'] === 'evaluations')
      ?.value
  const { rows } = await pool.query(
    `select status, may_trust, reason from mart.data_freshness join mart.rpt_15_data_freshness using (rooftop_id)
     where stream = 'evaluations'`,
  )
  return {
    status: own!.streams['evaluations']!.status,
    verifyGaps: verified.gaps.length,
    unlisted: verified.unlisted.length,
    isProved: isProved(verified),
    gapsGauge: gauge('forecourt_coverage_gaps'),
    lateGauge: gauge('forecourt_stream_late_rooftops'),
    ...rows[0],
  }
}

const well = {
  status: 'ok',
  verifyGaps: 0,
  unlisted: 0,
  isProved: true,
  gapsGauge: 0,
  lateGauge: 0,
  may_trust: true,
  reason: null,
}
/** A living run has still to list a span. */
const atWork = { ...well, unlisted: 1, isProved: false }
const torn = {
  ...{
    status: 'partial',
    verifyGaps: 1,
    unlisted: 0,
    isProved: false,
    gapsGauge: 1,
    lateGauge: 0,
    may_trust: false,
  },
  reason: '1 gaps in what was listed',
}

/** A run for the day after the last night, in the state that its process left. */
async function plantRun({ database }: Fixture, run: Record<string, unknown>): Promise<void> {
  await database.pool.query(
    `with day as (
       update ops.coverage set wanted = wanted + tstzmultirange(tstzrange(upper(wanted), upper(wanted) + interval '1 day'))
       returning rooftop_id, stream, upper(wanted) as until
     ), made as (
       insert into ops.run (command, arguments, source_started_at, status, is_detached, heartbeat_at)
       select 'sync', '{"mode": "sync", "from": 0, "until": null}', until, $1, $2, now() - make_interval(secs => $3) from day
       returning run_id
     )
     insert into ops.run_stream (run_id, rooftop_id, stream, status, finished_at)
     select run_id, rooftop_id, stream, $4::text, case when $4::text <> 'waiting' then now() end from made, day`,
    [
      run['status'] ?? 'running',
      run['isDetached'] ?? false,
      run['silentSeconds'] ?? 0,
      run['stream'] ?? 'waiting',
    ],
  )
}

test('a running sync makes no gap for status, verify, metrics and marts, but nothing is proved before it has listed all', async () => {
  await using fixture = await openFixture({ sandbox: world })
  await fixture.night()
  const held = fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 120_000 },
  })

  const night = fixture.nightAfter(1)
  await expect.poll(() => held.hits).toBeGreaterThan(0)
  const meanwhile = await reports(fixture)
  held.remove()
  await night

  expect(meanwhile).toEqual(atWork)
  expect(await reports(fixture)).toEqual(well)
})

const runs = {
  'is alive': [{}, atWork],
  'is alive and detached': [{ isDetached: true }, atWork],
  'whose process is silent': [{ silentSeconds: 120 }, torn],
  'that no worker works for': [{ isDetached: true, silentSeconds: 120 }, torn],
  'has failed': [{ status: 'failed' }, torn],
  'was stopped': [{ status: 'stopped' }, torn],
  'was taken over': [{ status: 'abandoned' }, torn],
  'was paused': [{ status: 'paused' }, torn],
  'whose stream has ended': [{ stream: 'ok' }, torn],
} as const

test('windows that a run has not listed are gaps, unless the run is alive: then they are not listed yet', async () => {
  await using fixture = await openFixture({ sandbox: world })
  await fixture.night()

  const found: Record<string, unknown> = {}
  for (const [name, [run]] of Object.entries(runs)) {
    await plantRun(fixture, run)
    found[name] = await reports(fixture)
    await fixture.database.pool.query(
      `delete from ops.run_stream where run_id > 1; delete from ops.run where run_id > 1;
       update ops.coverage set wanted = wanted - tstzmultirange(tstzrange(upper(wanted) - interval '1 day', null))`,
    )
  }

  expect(found).toEqual(
    Object.fromEntries(Object.entries(runs).map(([name, [, expected]]) => [name, expected])),
  )
})

test('a stream is late after 26 hours, but not while a live run works on it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({ sandbox: world })
  await fixture.night()
  const { pool } = fixture.database
  await pool.query("update ops.run_stream set finished_at = finished_at - interval '27 hours'")

  const late = await reports(fixture)
  await plantRun(fixture, {})
  const alive = await reports(fixture)
  await pool.query("update ops.run set heartbeat_at = now() - interval '2 minutes'")
  const dead = await reports(fixture)

  expect(late).toMatchObject({ status: 'late', lateGauge: 1, may_trust: false })
  expect(alive).toEqual(atWork)
  expect(dead).toMatchObject({ status: 'late', lateGauge: 1, may_trust: false, verifyGaps: 1 })
})

test('a worker writes the heartbeat of detached runs', async () => {
  await using fixture = await openFixture({ sandbox: world })
  await fixture.night()
  await plantRun(fixture, { isDetached: true, silentSeconds: 120 })

  await touchRuns(fixture.context.db, [], null)
  const untouched = await reports(fixture)
  await touchRuns(fixture.context.db, [], fixture.context.queue.sourceId)

  expect(untouched).toEqual(torn)
  expect(await reports(fixture)).toEqual(atWork)
})
