import { expect, test } from 'vitest'
import { openBenchFixture } from '../bench/bench-fixture.ts'
import { openChildFixture } from '../support/child-fixture.ts'

const now = new Date('2026-03-20T02:15:00Z')

// The child reports its own peak memory at its end.
const measure = `process.on('exit',()=>process.stderr.write('peak='+process.resourceUsage().maxRSS))`
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(measure)}` }

/** Peak resident memory, in MB, of a process that loads a history of this many evaluations. The source is another process. */
async function peakOfBackfill(evaluations: number): Promise<{ peak: number; loaded: number }> {
  const sandbox = { now, evaluations, rooftops: 6, days: 90 }
  await using fixture = await openChildFixture({ sandbox, sync: { start: '2026-03-20' } })
  await using warehouse = await fixture.warehouse()
  const range = ['--from', '2025-12-01', '--to', '2026-03-20']
  const startedAt = performance.now()

  const ended = await warehouse.run(['backfill', 'evaluations', ...range, '--json'], env)

  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code: 0 })
  const peak = Number(/peak=(\d+)/.exec(ended.stderr)?.[1]) / 1024
  const loaded = JSON.parse(ended.stdout).streams.evaluations.inserted as number
  console.log(
    `${evaluations} evaluations: ${loaded} loaded in ${seconds} s, peak ${peak.toFixed(0)} MB`,
  )
  return { peak, loaded }
}

test('the peak memory of a backfill does not grow with its length', {
  timeout: 600_000,
}, async () => {
  const small = await peakOfBackfill(5_000)
  const large = await peakOfBackfill(20_000)

  expect(large.loaded).toBeGreaterThan(3.8 * small.loaded)
  expect(large.peak / small.peak).toBeLessThan(1.2)
})

/** The first load of one rooftop whose evaluations were all created within two days. */
async function loadTwoDays(evaluations: number) {
  await using fixture = await openBenchFixture({ rooftops: 1, evaluations })
  await using warehouse = await fixture.warehouse('two_days')
  const loaded = await fixture.sync(warehouse)
  const { rows } = await warehouse.pool.query('select from core.agg_differences()')
  expect({ inserted: loaded.inserted, differences: rows.length }).toEqual({
    ...{ inserted: evaluations, differences: 0 },
  })
  console.log(
    `${evaluations} evaluations within two days: ${(evaluations / loaded.seconds).toFixed(0)}/s, peak ${loaded.peakMb.toFixed(0)} MB`,
  )
  return loaded
}

test('a rooftop that moved in within two days takes no more memory, and no more work a record, the larger it is', {
  timeout: 600_000,
}, async () => {
  const small = await loadTwoDays(4_000)
  const large = await loadTwoDays(40_000)

  expect(large.peakMb).toBeLessThan(350)
  expect(large.cpuSeconds / small.cpuSeconds).toBeLessThan(10 / 0.8)
  expect(large.statements / small.statements).toBeLessThan(12)
})
