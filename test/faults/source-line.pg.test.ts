import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { someOf } from '../support/cases.ts'
import { type FaultProxy, openFaultProxy, type ProxyMode } from '../support/fault-proxy.ts'
import { type Fixture, openFixture, runNight } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-18T02:15:00Z')
const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

async function openWorld(maxRetries: 0 | 1): Promise<Fixture> {
  return await openFixture({
    sandbox: { now, rooftops: 2, evaluations: 24, days: 3 },
    sync: { start: '2026-03-14', windowHours: 24 },
    http: { maxRetries, timeoutSeconds: 1, concurrency: 2 },
  })
}

/** A night whose requests go through the simulated connection. */
async function nightOver(
  { config, sandbox }: Fixture,
  line: FaultProxy,
  act: (() => Promise<void>) | null,
) {
  const baseUrl = sandbox.baseUrl.replace(/:\d+/, `:${line.port}`)
  const appraisal = { ...config.appraisal, baseUrl }
  // After the fault, a busy machine may still be slow.
  const http = act === null ? { ...config.http, timeoutSeconds: 30 } : config.http
  await using context = await openContext({ ...config, appraisal, http }, silent)
  const night = runNight(context)
  await act?.()
  return await night
}

async function faults({ sandbox, database }: Fixture) {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  const held = await warehouseTruth(database.pool, 'rooftop')
  const missing = differences(truth, held).filter((line) => line.endsWith(' is missing'))
  return { missing, others: differences(truth, held).filter((line) => !missing.includes(line)) }
}

/** Waits until this many requests are answered, long before the last one. */
async function answered({ sandbox }: Fixture, count: number): Promise<void> {
  const { requests } = sandbox
  sandbox.faults.add({ match: { path: '/geteval' }, fault: { kind: 'slow', ms: 60 } })
  while (requests.count('/geteval') < count) await new Promise((done) => setTimeout(done, 5))
}

const modes: readonly (readonly [string, ProxyMode])[] = [
  ['resets every connection', 'reset'],
  ['is refused', 'refuse'],
  ['lets through a byte now and then', { slow: 40 }],
  ['cuts every answer short', { truncate: 150 }],
  ['goes dead', 'blackhole'],
]

for (const [what, mode] of someOf(modes, 2))
  test(`a source whose line ${what} fails the night, and no partial record is stored; the next night loads them all`, async () => {
    await using fixture = await openWorld(0)
    await using line = await openFaultProxy(fixture.sandbox.port)

    const report = await nightOver(fixture, line, async () => {
      await answered(fixture, 4)
      await line.be(mode)
      fixture.sandbox.faults.clear()
    })

    expect(report.status).toBeOneOf(['partial', 'failed'])
    const before = await faults(fixture)
    expect(before.missing.length).toBeGreaterThan(0)
    expect(before.others).toEqual([])
    await line.be('pass')
    expect(await nightOver(fixture, line, null)).toMatchObject({ status: 'ok' })
    expect(await faults(fixture)).toEqual({ missing: [], others: [] })
  })

test('a short network fault costs a repeat and no record', async () => {
  await using fixture = await openWorld(1)
  await using line = await openFaultProxy(fixture.sandbox.port)

  const report = await nightOver(fixture, line, async () => {
    await answered(fixture, 4)
    await line.be('reset')
    await line.be('pass')
  })

  expect(report.status).toBe('ok')
  expect(await faults(fixture)).toEqual({ missing: [], others: [] })
})
