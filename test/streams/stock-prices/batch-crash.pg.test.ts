import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { type Config, makeConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { samples } from '#src/sandbox/samples.ts'
import type { Sandbox } from '#src/sandbox/server.ts'
import { stockPrices } from '#src/streams/stock-prices/stock-prices.ts'
import { FakeSource, json } from '../../api/sources/fake-source.ts'
import { someOf } from '../../support/cases.ts'
import { startForecourt } from '../../support/child.ts'
import { dayMs, type Fixture, runNight } from '../../support/fixture.ts'
import { rowsOf } from '../../support/pricing-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import {
  adcode,
  batches,
  calls,
  impatient,
  reports,
  stockFixture,
  submitPath,
  vinOf,
} from './stocked.ts'

vi.setConfig({ testTimeout: 300_000 })

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** 3,000 vehicles. The service cannot price 120 of them, and ten cannot be sent. */
const stock = [
  ...Array.from({ length: 3000 }, (_, index) => {
    const unit = { stockNo: `S-${index}`, km: 10_000 + index }
    if (index % 50 === 7) return { ...unit, vin: samples.undecodable.vin }
    if (index % 50 === 8) return { ...unit, adcode: 'NO-SUCH-CODE' }
    return index % 20 === 1
      ? { ...unit, vin: vinOf(index) }
      : { ...unit, vin: vinOf(index), adcode }
  }),
  ...Array.from({ length: 10 }, (_, index) => ({ stockNo: `X-${index}` })),
]

/** The vehicle-data APIs of the sandbox, except that the n-th accepted batch never ends. */
async function withEndlessBatch({ vehicleDataUrl }: Sandbox, n: number): Promise<FakeSource> {
  const taken: string[] = []
  return await FakeSource.start(async (response, { method, path, headers, body }) => {
    const isEndless = method === 'GET' && path.endsWith(`/${taken[n - 1]}`)
    if (isEndless) return json(response, { percentComplete: 40 })
    const own = ['authorization', 'content-type', 'accept']
    const answer = await fetch(`${vehicleDataUrl}${path}`, {
      method,
      headers: Object.fromEntries(
        own.map((name) => [name, String(headers[name as 'accept'] ?? '')]),
      ),
      ...(method === 'GET' ? {} : { body }),
    })
    const answered = (await answer.json()) as Record<string, unknown>
    if (typeof answered['batchId'] === 'string') taken.push(answered['batchId'])
    const date = answer.headers.get('date') ?? ''
    return json(response, answered, answer.status, { date })
  })
}

function configOf(fixture: Fixture, source: FakeSource) {
  const { sandbox, database } = fixture
  return {
    ...sandbox.clientConfig(),
    vehicleData: { baseUrl: source.baseUrl.replace(/\/v1$/, ''), apiKey: sandbox.vehicleDataKey },
    warehouse: { url: database.url },
    sync: { start: '2026-03-09' },
    http: { maxRetries: 0, timeoutSeconds: 10 },
  }
}

/** A sync of prices only, in a process that is killed when it passes a point for the n-th time. */
async function killedAt(config: object, point: string) {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, JSON.stringify(config))
  const args = ['--config', file, 'sync', 'stock-prices']
  return await startForecourt(args, { cwd: folder.path, env: { FORECOURT_CRASH_AT: point } }).ended
}

async function nightOf(fixture: Fixture, config: Config) {
  await using context = await openContext(config, silent)
  return await runNight({ ...context, ...impatient({ ...fixture, context }, 60) }, [stockPrices])
}

/** Units by their prices, and those with more than one observation since the instant. */
async function account(fixture: Fixture, since: Date) {
  const [sum] = await rowsOf(
    fixture,
    `select count(*) filter (where error is null)::int as priced, count(*) filter (where error is not null)::int as failed
     from core.stock_price_observation where last_confirmed_at >= $1 and is_current`,
    [since],
  )
  const twice = await rowsOf(
    fixture,
    `select stock_no from core.stock_price_observation where observed_at >= $1 group by 1 having count(*) > 1`,
    [since],
  )
  return { ...sum, twice }
}

const doubled = async (fixture: Fixture) =>
  await rowsOf(
    fixture,
    `select run_id, stock_no from ops.price_batch join ops.price_batch_unit using (batch_no)
     where state <> 'refused' group by 1, 2 having count(*) > 1`,
  )

test('3,000 vehicles, one endless batch and a kill after a submission: one observation per night, every vehicle accounted for', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(stock)
  await using source = await withEndlessBatch(fixture.sandbox, 2)
  const config = configOf(fixture, source)
  const began = fixture.sandbox.clock.now()

  const killed = await killedAt(config, 'record-read:3')
  const left = (await batches(fixture)).map(({ state }) => state)
  const first = await nightOf(fixture, makeConfig(config, '/nowhere'))

  expect(killed.signal).toBe('SIGKILL')
  expect(left).toEqual(['submitted', 'submitted', 'submitting'])
  expect(first.status).toBe('partial')
  expect(first.rooftops['rooftop-1']!.error).toMatch(
    /batch 3 of 500 vehicles is lost: forecourt ended before .*; batch 2 of 500 vehicles is stuck: no progress for 10 minutes at 40 percent/,
  )
  const states = (await batches(fixture)).map(({ state, units }) => `${units} ${state}`)
  expect(states.sort()).toEqual([...Array(4).fill('500 complete'), '500 lost', '500 stuck'])
  expect(calls(fixture, submitPath)).toBe(6)
  expect(await doubled(fixture)).toEqual([])
  // 500 of the lost batch and 500 of the stuck one are missing, and ten cannot be sent.
  expect(await account(fixture, began)).toEqual({ priced: 1920, failed: 80, twice: [] })
  expect((await reports(fixture)).map((row) => row['check_name'])).toEqual(
    Array(10).fill('cannot-be-priced'),
  )

  fixture.sandbox.clock.advance(dayMs)
  const morning = fixture.sandbox.clock.now()
  const second = await nightOf(fixture, makeConfig(config, '/nowhere'))

  expect(second).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { listed: 3000, hydrated: 3000, inserted: 1000 } },
  })
  expect(await account(fixture, morning)).toEqual({ priced: 2880, failed: 120, twice: [] })
  expect(await doubled(fixture)).toEqual([])
})

test('a kill at any other point of a batch loses nothing and sends nothing twice', async () => {
  const points = [
    'before-commit:2',
    'rows-written:3',
    'ledger-written:4',
    'committed:3',
    'slice-claimed:3',
  ]
  for (const point of someOf(points, 2)) {
    await using fixture = await stockFixture(stock.slice(0, 40))
    await using source = await withEndlessBatch(fixture.sandbox, 99)
    const config = { ...configOf(fixture, source), prices: { batchSize: 15 } }

    const killed = await killedAt(config, point)
    const report = await nightOf(fixture, makeConfig(config, '/nowhere'))

    expect([point, killed.signal, report.status]).toEqual([point, 'SIGKILL', 'ok'])
    expect(calls(fixture, submitPath)).toBe(3)
    expect(await doubled(fixture)).toEqual([])
    const rows = await rowsOf(fixture, 'select stock_no from core.stock_price_observation')
    expect(rows).toHaveLength(40)
  }
})
