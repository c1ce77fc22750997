import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { statementsOf, tablesScanned } from './statements.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let console: ConsoleFixture
const now = new Date()

/** 60,000 runs, each with two parts, of 300 days; 30,000 records that left quarantine and 200 that have not; 20,000 runs of a job. */
beforeAll(async () => {
  const start = new Date(now.getTime() - 3 * dayMs).toISOString()
  const sandbox = { now, rooftops: 2, evaluations: 12, days: 3 }
  const fixture = await openFixture({ sandbox, sync: { start } })
  await fixture.night()
  console = await openConsole({ fixture })
  await console.rows(
    `insert into ops.run (command, arguments, source_started_at, status, started_at, finished_at, lane)
     select 'sync', '{"mode":"sync","from":0,"until":1,"streams":["evaluations"],"rooftops":[]}', now(),
       case when n % 500 = 0 then 'failed' when n % 501 = 0 then 'paused' else 'ok' end,
       now() - n * interval '7 minutes', now() - n * interval '7 minutes', case when n % 501 = 0 then 'background' else 'event' end
     from generate_series(60000, 1, -1) as n`,
  )
  await console.rows(
    `insert into ops.run_stream (run_id, rooftop_id, stream, status, finished_at)
     select run_id, rooftop_id, 'evaluations', 'failed', finished_at from ops.run, core.rooftop where run_id > 1`,
  )
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id, resolved_at)
     select 'evaluations', rooftop_id, n::text, '[{"path":"VIN","message":"is missing"}]', 1,
       case when n > 100 then now() - n * interval '10 minutes' end
     from core.rooftop, generate_series(1, 15100) as n`,
  )
  await console.rows(
    `insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, finished_at, host, process_id)
     select 'hourly', 'schedule', at, 'ok', at, at, 'a', 1 from generate_series(now() - interval '300 days', now() - interval '1 hour', '20 minutes') as at`,
  )
  await console.rows('vacuum analyze')
})

afterAll(async () => await console[Symbol.asyncDispose]())

/** Large tables, which no page may read as a whole. */
const large = ['run', 'run_stream', 'quarantine', 'job_fire']

test.each([
  ...['/runs', '/runs?status=all', '/runs?status=all&after=30000', '/runs?rooftop=rooftop-1'],
  ...['/runs/1', '/runs/30000', '/runs/50001', '/quarantine', '/quarantine?list=1'],
  ...['/quarantine?tab=resolved', '/quarantine?tab=resolved&list=1', '/quarantine/1'],
  ...['/work', '/backfills', '/jobs', '/jobs/hourly'],
])('%s reads with at most 12 statements, and no large table as a whole', async (path) => {
  const { answer, statements } = await statementsOf(console, path)

  expect(answer.status).toBe(200)
  expect(statements.length).toBeGreaterThan(0)
  expect(statements.length).toBeLessThanOrEqual(12)
  const scanned = await tablesScanned(console, statements)
  expect(scanned.filter((table) => large.includes(table))).toEqual([])
})
