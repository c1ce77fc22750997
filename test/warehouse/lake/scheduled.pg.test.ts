import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openScheduleFixture } from '../../app/scheduler/schedule-fixture.ts'
import { until } from '../../support/child.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { readDelta } from './delta.ts'
import { openDuckDb } from './duckdb.ts'

test('the scheduler exports to the lake of the config at its time', async () => {
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'lake')
  await using fixture = await openScheduleFixture(
    { 'lake-export': { enabled: true } },
    { lake: { to, schedule: '* * * * * *' } },
  )

  const scheduler = fixture.start(['schedule'])
  await until(async () => (await fixture.jobRuns('lake-export')).some((run) => run.status === 'ok'))
  scheduler.kill('SIGTERM')
  await scheduler.ended

  const [first] = (await fixture.jobRuns('lake-export')).filter(({ status }) => status === 'ok')
  expect(first).toMatchObject({ cause: 'schedule', status: 'ok', error: null })
  await using duck = await openDuckDb()
  expect((await readDelta(duck, to, 'dim_date')).rows).toBeGreaterThan(100)
})

test('a job without lake.to does not run, and a fault of the lake is the fault of the job', async () => {
  await using fixture = await openScheduleFixture({ 'lake-export': { enabled: true } })
  await using closed = await openScheduleFixture(
    { 'lake-export': { enabled: true } },
    { lake: { to: '/dev/null/lake' } },
  )

  const unset = await fixture.run(['run', 'lake-export'])
  const failed = await closed.run(['run', 'lake-export'])

  expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining('lake.to is not set')])
  expect(failed.code).toBe(2)
  const [run] = await closed.jobRuns('lake-export')
  expect(run).toMatchObject({ status: 'failed' })
  expect(run!.error).toMatch(/\/dev\/null\/lake.* cannot be used: .*\(ENOTDIR\)/)
})
