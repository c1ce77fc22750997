import { expect, test, vi } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { allStreams } from '#src/streams/all.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { showRun } from '#src/sync/explain/run-history.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findResumable, pauseBackfills, resumeRequest } from '#src/sync/run/backfills.ts'
import { runStreams, startDetached } from '#src/sync/run/run-streams.ts'
import { runWorker } from '#src/sync/run/run-worker.ts'
import { otherSource, readSource } from '#src/warehouse/db/run-source.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { readDueRooftops } from '#src/web/webhook/consume.ts'
import { until } from '../support/child.ts'
import { type Fixture, openFixture, runNight } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'
import { history, historyFrom, now, runsOf } from './lanes-fixture.ts'

vi.setConfig({ testTimeout: 120_000 })

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

interface Other extends AsyncDisposable {
  readonly sandbox: Sandbox
  readonly context: Context
}

/** Six rooftops, whose lists are slow, so that work waits in the queue. */
async function slowFixture(): Promise<Fixture> {
  const fixture = await openFixture({
    sandbox: { now, rooftops: 6, evaluations: 60, days: 20 },
    sync: { start: new Date(historyFrom * 1000).toISOString(), windowHours: 240 },
    http: { concurrency: 4 },
  })
  const fault = { kind: 'slow', ms: 100 } as const
  fixture.sandbox.faults.add({ match: { path: '/getevallist' }, fault })
  return fixture
}

/** Another checkout on the same warehouse: its rooftops have the same uids, and its config names another sandbox. */
async function otherCheckout(fixture: Fixture, signal?: AbortSignal): Promise<Other> {
  const clock = new VirtualClock({ start: now, frozen: true })
  const sandbox = await startSandbox({ clock, now, rooftops: 6, evaluations: 20, days: 20 })
  const config = makeConfig(
    {
      ...sandbox.clientConfig(),
      warehouse: { url: fixture.database.url },
      sync: { start: fixture.config.sync.start.toISOString(), windowHours: 240 },
      http: { maxRetries: 0, timeoutSeconds: 10, concurrency: 4 },
    },
    '/nowhere',
  )
  const context = await openContext(config, silent, signal === undefined ? {} : { signal })
  return {
    ...{ sandbox, context },
    [Symbol.asyncDispose]: async () => {
      await context[Symbol.asyncDispose]()
      await sandbox.close()
    },
  }
}

/** Rows that differ from what the fixture's own sandbox has. */
async function rowFaults({ sandbox, database }: Fixture): Promise<string[]> {
  return differences(
    sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop'),
    await warehouseTruth(database.pool, 'rooftop'),
  )
}

/** What a sandbox was asked for, besides its clock. */
function readsOf({ requests }: Sandbox): number {
  return (
    requests.count('/getevallist') + requests.count('/geteval') + requests.count('/getuserlist')
  )
}

test('a worker takes no work of a run that reads another service', async () => {
  await using fixture = await slowFixture()
  const stop = new AbortController()
  await using other = await otherCheckout(fixture, stop.signal)
  const working = runWorker(other.context, { streams: allStreams, concurrency: 4 })

  const night = await runNight(fixture.context)
  stop.abort()
  await working

  expect(night.status).toBe('ok')
  expect(readsOf(other.sandbox)).toBe(0)
  expect(await rowFaults(fixture)).toEqual([])
})

test('work that is left to workers waits for one that reads the same service', {
  tags: 'ci',
}, async () => {
  await using fixture = await slowFixture()
  const [stop, stopOther] = [new AbortController(), new AbortController()]
  await using other = await otherCheckout(fixture, stopOther.signal)
  await startDetached(fixture.context, history(fixture))
  const otherWorks = runWorker(other.context, { streams: allStreams, concurrency: 4 })
  const context = { ...fixture.context, signal: stop.signal }

  // The other worker does its own work meanwhile, at the same rooftops.
  const night = await runNight({ ...other.context, signal: new AbortController().signal })
  const [before] = await runsOf(fixture)
  const works = runWorker(context, { streams: allStreams, concurrency: 4 })
  await until(async () => (await runsOf(fixture))[0]!.status !== 'running')
  stop.abort()
  stopOther.abort()
  await Promise.all([works, otherWorks])

  expect(night.status).toBe('ok')
  expect(before).toMatchObject({ status: 'running', fence: 0 })
  expect((await runsOf(fixture))[0]).toMatchObject({ status: 'ok' })
})

test('the same services written in another way are the same source', async () => {
  const { appraisal, vehicleData } = makeConfig(
    {
      appraisal: { baseUrl: 'https://API.Example.com:443/a/v1/' },
      vehicleData: { baseUrl: 'https://kim:secret@Data.example.com/' },
    },
    '/nowhere',
  )

  expect(readSource({ appraisal, vehicleData })).toEqual({
    appraisalUrl: 'https://api.example.com/a/v1',
    vehicleDataUrl: 'https://data.example.com',
    isSandbox: false,
  })
})

test('a backfill that waits for workers of an old base URL is named, and goes on with the new one once it is resumed', async () => {
  await using fixture = await slowFixture()
  const { runId } = (await startDetached(fixture.context, history(fixture))).run
  await using moved = await otherCheckout(fixture)
  await fixture.database.pool.query(
    "update ops.run set heartbeat_at = now() - interval '2 minutes'",
  )
  const { config, db } = moved.context

  const refused = await startDetached(moved.context, {
    ...history(fixture),
    rooftops: config.rooftops,
  }).catch((error: Error) => error.message)
  const health = await readStatus(db, allStreams, [], config)
  const shown = await showRun(db, runId, [])
  await pauseBackfills(db, null)
  const [old] = await findResumable(db, null, config.sync)
  const { request } = resumeRequest(config, allStreams, old!)
  const resumed = await runStreams(moved.context, request)

  const urls = `${fixture.sandbox.baseUrl} and ${fixture.sandbox.vehicleDataUrl}`
  expect(refused).toContain(`Wait for a worker that reads ${urls} to end it, or pause it`)
  expect(health.running).toMatchObject([{ runId, isDetached: true, isAtWork: false }])
  expect(otherSource(health.running[0]!.source, config)).toBe(urls)
  expect(otherSource(shown!.source, config)).toBe(urls)
  expect(otherSource(shown!.source, fixture.config)).toBeNull()
  expect(resumed.status).toBe('ok')
  expect(readsOf(fixture.sandbox)).toBe(0)
  expect(otherSource((await showRun(db, resumed.runId, []))!.source, config)).toBeNull()
})

test('a killed run of another source is taken over, each key once its worker has released it', async () => {
  await using fixture = await slowFixture()
  await using moved = await otherCheckout(fixture)
  const { pool } = fixture.database
  await startDetached(fixture.context, history(fixture, 'foreground'))
  const held = await fixture.context.queue.take(2)
  await pool.query("update ops.run set heartbeat_at = now() - interval '2 minutes'")
  let releasedAt: Promise<Date> | null = null
  const release = async (): Promise<Date> => {
    await fixture.context.queue.complete(pool, held)
    return (await pool.query<{ at: Date }>('select clock_timestamp() as at')).rows[0]!.at
  }
  // Once its other work is under way.
  const crashPoint = (name: string) => {
    if (name === 'slice-claimed') releasedAt ??= release()
  }

  const night = await runNight({ ...moved.context, crashPoint }, [evaluations])

  const { rows } = await pool.query<{ at: Date }>(
    `select min(began_at) as at from ops.run_stream join core.rooftop using (rooftop_id)
     where run_id = $1 and rooftop_uid = any($2)`,
    [night.runId, held.map(({ key }) => key.rooftopUid)],
  )
  expect(held).toHaveLength(2)
  expect(night.status).toBe('ok')
  expect(rows[0]!.at.getTime()).toBeGreaterThan((await releasedAt!).getTime())
  expect((await runsOf(fixture)).map(({ status }) => status)).toEqual(['abandoned', 'ok'])
  expect(readsOf(fixture.sandbox)).toBe(0)
})

test('quarantined records are retried, and links renewed, at the services of the process that does it', {
  tags: 'ci',
}, async () => {
  await using fixture = await slowFixture()
  fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 200, body: [{ EvalID: 'none' }] },
    times: 1,
  })
  await runNight(fixture.context)
  const before = readsOf(fixture.sandbox)
  const { pool } = fixture.database
  const { rows } = await pool.query('select from ops.quarantine where resolved_at is null')
  await using other = await otherCheckout(fixture)
  const { config } = other.context
  const plan = { from: historyFrom, until: null } as const

  await runStreams(other.context, {
    plan: { ...plan, command: 'quarantine retry', mode: 'retry' },
    ...{ streams: allStreams, rooftops: config.rooftops },
  })
  await runStreams(other.context, {
    plan: { ...plan, command: 'links refresh', mode: 'links' },
    ...{ streams: allStreams, rooftops: config.rooftops },
  })

  expect(rows).toHaveLength(1)
  expect(readsOf(fixture.sandbox)).toBe(before)
  expect(other.sandbox.requests.count('/geteval')).toBe(1)
})

test('a webhook is read by a process of the services that it came from, or by any after an hour', {
  tags: 'ci',
}, async () => {
  await using fixture = await slowFixture()
  await using other = await otherCheckout(fixture)
  await runNight(fixture.context)
  const { pool } = fixture.database
  await pool.query(
    `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_received_at, source_id)
     select 'ON_EXPORT', rooftop_id, eval_id, sha256('1'), 'waiting', now(), $1 from core.evaluation order by eval_id limit 1`,
    [fixture.context.queue.sourceId],
  )
  const due = async ({ queue }: Context) =>
    (await readDueRooftops(openDb(pool), queue.sourceId)).length

  const atFirst = [await due(fixture.context), await due(other.context)]
  await pool.query("update ops.webhook_delivery set due_at = now() - interval '61 minutes'")

  expect(atFirst).toEqual([1, 0])
  expect(await due(other.context)).toBe(1)
})

test('a rooftop has left the config when the config of its own services no longer names it', {
  tags: 'ci',
}, async () => {
  await using fixture = await slowFixture()
  await using other = await otherCheckout(fixture)
  const retired = async () => {
    const { rows } = await fixture.database.pool.query<{ uid: string }>(
      'select rooftop_uid as uid from core.rooftop where left_config_at is not null order by 1',
    )
    return rows.map(({ uid }) => uid)
  }
  const nightOf = async (context: Context, rooftops: Context['config']['rooftops']) =>
    await runNight({ ...context, config: { ...context.config, rooftops } }, [evaluations])
  const [first, second, ...others] = fixture.config.rooftops

  await nightOf(fixture.context, [first!, second!])
  const { rooftops } = other.context.config
  await nightOf(
    other.context,
    rooftops.filter(({ uid }) => others.some((one) => one.uid === uid)),
  )
  const afterBoth = await retired()
  await nightOf(fixture.context, [first!])

  expect(afterBoth).toEqual([])
  expect(await retired()).toEqual([second!.uid])
})
