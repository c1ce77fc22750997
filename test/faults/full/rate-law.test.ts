import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Callers, favour, openCallers } from '../../rate/callers.ts'
import {
  type LimitedSource,
  type SourceLimits,
  startLimitedSource,
} from '../../rate/limited-source.ts'

const names = ['a', 'b', 'c', 'd']
// So many calls want to be sent that those which wait for their retry leave enough of the others.
const callsAtOnce = 32

interface Estate extends AsyncDisposable {
  readonly source: LimitedSource
}

/** Four processes that read as fast as their key allows. */
async function fourProcesses(limits: SourceLimits): Promise<Estate> {
  favour(process.pid)
  const source = await startLimitedSource(limits)
  const callers: Callers = await openCallers(source.baseUrl, ['north'], { concurrency: 8 })
  await Promise.all(names.map((name) => callers.start(name, callsAtOnce)))
  return {
    source,
    async [Symbol.asyncDispose]() {
      await callers[Symbol.asyncDispose]()
      await source[Symbol.asyncDispose]()
    },
  }
}

/** Requests a second of the next seconds: all, and those that were answered. */
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

// An answer takes long enough for the processes, not the machine, to be what limits the throughput.
test.each([
  [0.01, 0.8],
  [0.05, 0.6],
])(
  'a share of %d of stray 429s leaves at least %d of the throughput',
  async (strayShare, least) => {
    await using estate = await fourProcesses({
      perSecond: Infinity,
      retryAfterSeconds: 1,
      latencyMs: 25,
    })
    const { source } = estate
    await sleep(2000)

    const before = await measure(source, 5)
    source.limits.strayShare = strayShare
    await sleep(2000)
    const during = await measure(source, 10)
    source.limits.strayShare = 0
    const after = await measure(source, 5)

    const told = JSON.stringify({ before, during, after })
    expect(during.answered, told).toBeGreaterThanOrEqual(
      least * Math.min(before.answered, after.answered),
    )
  },
)

test('a hard limit is found, used and kept, and left behind once it is lifted', async () => {
  await using estate = await fourProcesses({
    perSecond: Infinity,
    retryAfterSeconds: 1,
    latencyMs: 25,
  })
  const { source } = estate
  await sleep(2000)
  const free = await measure(source, 5)
  source.limits.perSecond = 50
  await sleep(10_000)
  const limited = await measure(source, 20)
  source.limits.perSecond = Infinity
  await sleep(25_000)
  const lifted = await measure(source, 5)

  const told = JSON.stringify({ free, limited, lifted })
  expect(limited.answered, told).toBeGreaterThanOrEqual(45)
  expect(limited.sent, told).toBeLessThanOrEqual(52.5)
  expect(lifted.answered, told).toBeGreaterThanOrEqual(0.9 * free.answered)
})
