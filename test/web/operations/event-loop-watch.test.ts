import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { watchEventLoop } from '#src/open-context.ts'
import { eventLoopBlocked } from '#src/telemetry.ts'
import { openProcessMetrics } from '#src/web/operations/operations.ts'
import { seriesOf } from './exposition.ts'

test('a process whose event loop was blocked says so in its log and in its metrics', async () => {
  using counted = openProcessMetrics(makeConfig({}, '/nowhere'))
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const log = openLog({ level: 'info', human: false, secrets: [], write })
  const reported = new Promise<void>((done) => eventLoopBlocked.subscribe(() => done()))
  using _watch = watchEventLoop(log, { everyMs: 10, limitMs: 300 })

  // Nothing else of the process runs meanwhile, not even timers.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
  await reported

  const series = seriesOf(await counted.registry.metrics())
  expect(series.get('forecourt_event_loop_blocked_total')).toBeGreaterThanOrEqual(1)
  expect(series.get('forecourt_event_loop_blocked_seconds_total')).toBeGreaterThan(0.3)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    msg: expect.stringContaining('event loop blocked'),
  })
})
