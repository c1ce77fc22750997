import { expect, test } from 'vitest'
import { openChildHouse } from '../support/child-house.ts'

const now = new Date('2026-03-20T02:15:00Z')

// The child itself says at its end how large it ever was.
const measure = `process.on('exit',()=>process.stderr.write('peak='+process.resourceUsage().maxRSS))`
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(measure)}` }

/** Peak resident memory, in MB, of a process that loads a history of so many evaluations. The source is another process. */
async function peakOfBackfill(evaluations: number): Promise<{ peak: number; loaded: number }> {
  const sandbox = { now, evaluations, rooftops: 6, days: 90 }
  await using house = await openChildHouse({ sandbox, sync: { start: '2026-03-20' } })
  await using warehouse = await house.warehouse()
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
