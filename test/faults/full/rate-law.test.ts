import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Callers, favour, openCallers } from '../../api/rate/callers.ts'
import {
  type LimitedSource,
  type SourceLimits,
  startLimitedSource,
} from '../../api/rate/limited-source.ts'
import { until } from '../../support/child.ts'

// Enough calls that there are always others to send while some wait for their retry.
const callsAtOnce = 32
/** How long an answer takes, in ms: the processes, not the machine, limit the throughput. */
const latencyMs = 25
/** A call is in flight while the answer that refuses another one, and the news of it, are on their way. */
const inFlightMs = latencyMs + 75

interface Processes extends AsyncDisposable {
  readonly source: LimitedSource
}

/** Processes that read as fast as their key allows. */
async function startProcesses(count: number, limits: SourceLimits): Promise<Processes> {
  favour(process.pid)
  const source = await startLimitedSource({ latencyMs, retryAfterSeconds: 1, ...limits })
  const callers: Callers = await openCallers(source.baseUrl, ['north'], { concurrency: 8 })
  const names = ['a', 'b', 'c', 'd'].slice(0, count)
  await Promise.all(names.map((name) => callers.start(name, callsAtOnce)))
  return {
    source,
    async [Symbol.asyncDispose]() {
      await callers[Symbol.asyncDispose]()
      await source[Symbol.asyncDispose]()
    },
  }
}

/** Requests per second during the next seconds: all, and those that were answered. */
async function measure({ arrivals }: LimitedSource, seconds: number) {
  const from = performance.now()
  await sleep(seconds * 1000)
  const seen = arrivals.filter(({ at }) => at >= from)
  const tookSeconds = (performance.now() - from) / 1000
  return {
    sent: seen.length / tookSeconds,
    answered: seen.filter(({ isRefused }) => !isRefused).length / tookSeconds,
  }
}

/** Seconds from the first call until this many were answered. */
async function secondsFor(calls: number, processes: number, randomShare: number): Promise<number> {
  await using running = await startProcesses(processes, { perSecond: Infinity, randomShare })
  const { arrivals } = running.source
  const answered = () => arrivals.filter(({ isRefused }) => !isRefused)
  await until(() => answered().length >= calls)
  return (answered()[calls - 1]!.at - arrivals[0]!.at) / 1000
}

// What the law reaches is asserted in virtual time (test/api/rate/rate-law.test.ts). These bounds leave room for a busy machine; the
// figures are printed.
test.each([[4, 0.05]])(
  'with %i processes a share of %d of random 429s does not slow the key down',
  async (processes, randomShare) => {
    const calls = 4000
    const without = await secondsFor(calls, processes, 0)
    const during = await secondsFor(calls, processes, randomShare)

    expect(during / without, JSON.stringify({ without, during })).toBeLessThanOrEqual(2.5)
    console.log(
      JSON.stringify({ processes, randomShare, without, during, ratio: during / without }),
    )
  },
)

test.each([4])(
  'with %i processes a hard limit refuses few calls, is used, and no call is sent within a Retry-After',
  async (processes) => {
    const perSecond = 40
    await using running = await startProcesses(processes, { perSecond })
    const { arrivals } = running.source
    await sleep(60_000)
    const seen = [...arrivals]
    const seconds = (seen.at(-1)!.at - seen[0]!.at) / 1000
    const refused = seen.filter(({ isRefused }) => isRefused)
    const within = seen.filter(({ at }) =>
      refused.some((refusal) => at > refusal.at + inFlightMs && at < refusal.at + 1000),
    )
    const measured = {
      calls: seen.length,
      refusedShare: refused.length / seen.length,
      usedShare: (seen.length - refused.length) / seconds / perSecond,
      within: within.length,
    }
    console.log(JSON.stringify({ processes, ...measured }))

    expect(measured.refusedShare, JSON.stringify(measured)).toBeLessThanOrEqual(0.03)
    expect(measured.usedShare, JSON.stringify(measured)).toBeGreaterThanOrEqual(0.65)
    expect(measured.within, JSON.stringify(measured)).toBeLessThan(0.005 * measured.calls)
  },
)

test('a hard limit is found and used, and no longer applied once it is lifted', async () => {
  await using processes = await startProcesses(4, { perSecond: Infinity })
  const { source } = processes
  await sleep(2000)
  const free = await measure(source, 5)
  source.limits.perSecond = 50
  await sleep(10_000)
  const limited = await measure(source, 12)
  source.limits.perSecond = Infinity
  await sleep(25_000)
  const lifted = await measure(source, 5)

  const message = JSON.stringify({ free, limited, lifted })
  console.log(message)
  expect(limited.answered, message).toBeGreaterThanOrEqual(32)
  expect(limited.sent, message).toBeLessThanOrEqual(52.5)
  expect(lifted.answered, message).toBeGreaterThanOrEqual(0.7 * free.answered)
})
