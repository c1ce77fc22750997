import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import type { Check } from '#src/web/operations/check-result.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const now = new Date('2026-03-10T06:30:00Z')

/** Two sets of groups and keys: twelve rooftops, each with recent evaluations. */
async function startGroups(): Promise<Sandbox> {
  const clock = new VirtualClock({ start: now, frozen: true })
  return await startSandbox({ evaluations: 600, rooftops: 12, days: 30, now, clock })
}

async function checkWith(
  config: object,
): Promise<{ code: number; checks: Check[]; stdout: string }> {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  const { code, stdout } = await runInProcess(['check', '--json'], { cwd: folder.path })
  const { checks } = JSON.parse(stdout) as { checks: Check[] }
  return { code, checks, stdout }
}

/** The config with values of some rooftops changed, by their name. */
function plant(sandbox: Sandbox, changes: Readonly<Record<string, object>>) {
  const config = sandbox.clientConfig()
  const rooftops = config.rooftops.map((rooftop) => ({ ...rooftop, ...changes[rooftop.name] }))
  return { ...config, rooftops }
}

/** The lines that are not ok: rooftops by name. */
function problemsOf(sandbox: Sandbox, checks: readonly Check[]): string[] {
  const names = new Map(sandbox.world.rooftops.map(({ uid, name }) => [`rooftop ${uid}`, name]))
  return checks
    .filter(({ status }) => status !== 'ok')
    .map(({ name, status, detail }) => `${status} ${names.get(name) ?? name}: ${detail}`)
}

test('each rooftop shows its local time and what a recent evaluation carries', async () => {
  await using sandbox = await startGroups()

  const { code, checks } = await checkWith(sandbox.clientConfig())

  expect(code).toBe(0)
  const lines = checks.filter(({ name }) => name.startsWith('rooftop '))
  expect(lines.map(({ status }) => status)).toEqual(Array(12).fill('ok'))
  const { dealerId, uid } = sandbox.world.rooftops[4]!
  const kuwait = lines.find(({ name }) => name === `rooftop ${uid}`)!
  expect(kuwait.detail).toMatch(
    /; Tue, 10 Mar 2026, 09:30 in Asia\/Kuwait; evaluation \d+: DealerID \d+/,
  )
  expect(kuwait.detail).toContain(`DealerID ${dealerId}`)
})

test('a check makes three free calls for each rooftop and writes nothing', async () => {
  await using sandbox = await startGroups()

  await checkWith(sandbox.clientConfig())

  const calls = sandbox.requests.entries().map(({ path }) => path)
  const counted = Map.groupBy(calls, (path) => path)
  for (const path of ['/getuserlist', '/getevallist', '/geteval'])
    expect(counted.get(path)).toHaveLength(12)
  // The others read the clock, and the key of the vehicle data.
  expect(calls).toHaveLength(3 * 12 + 2)
})

test.for([
  ['2026-03-10T06:29:59Z', []],
  [
    '2026-03-10T06:31:00Z',
    ['warn sync.start: 2026-03-10T06:31:00.000Z lies in the future: nothing is loaded until then'],
  ],
] as const)(
  'check warns of a sync.start that the source has not reached: %s',
  async ([start, expected]) => {
    await using sandbox = await startGroups()

    const { code, checks } = await checkWith({ ...sandbox.clientConfig(), sync: { start } })

    const found = problemsOf(sandbox, checks).filter((line) => line.includes('sync.start'))
    expect([code, found]).toEqual([0, expected])
  },
)

const plants: readonly {
  readonly name: string
  readonly changes: Readonly<Record<string, object>>
  readonly expected: readonly RegExp[]
}[] = [
  {
    name: 'a dealerId that no rooftop of the group has',
    changes: { 'Harbour City Sydney': { dealerId: 105 } },
    expected: [
      /^warn Harbour City Sydney: dealerId is 105, and the list has no evaluation with it in the last 30 days, while its group has \d+, such as \d+ with DealerID 10[12]: /,
    ],
  },
  {
    name: 'two wrong dealerIds in a group, and one in another',
    changes: {
      'Harbour City Sydney': { dealerId: 901 },
      'Harbour City Brisbane': { dealerId: 902 },
      'Gulf Pearl Dubai 2': { dealerId: 903 },
    },
    expected: [
      /^warn Harbour City Sydney: dealerId is 901/,
      /^warn Harbour City Brisbane: dealerId is 902/,
      /^warn Gulf Pearl Dubai 2: dealerId is 903/,
    ],
  },
  {
    name: 'time zones of another region: each region',
    changes: {
      'Harbour City Brisbane': { timezone: 'Asia/Dubai' },
      'Lakeside Auto Chicago': { timezone: 'Australia/Perth' },
      'Gulf Pearl Kuwait': { timezone: 'America/New_York' },
    },
    expected: [
      /^warn Harbour City Brisbane: timezone is Asia\/Dubai, but the key au is for AU: /,
      /^warn Lakeside Auto Chicago: timezone is Australia\/Perth, but the key us is for US: /,
      /^warn Gulf Pearl Kuwait: timezone is America\/New_York, but the key gcc is for GCC: /,
    ],
  },
  {
    name: 'currencies that the country does not use: each region, two groups of one key',
    changes: {
      'Harbour City Sydney': { currency: 'NZD' },
      'Outback Motors Adelaide': { currency: 'NZD' },
      'Lakeside Auto Chicago': { currency: 'CAD' },
      'Gulf Pearl Dubai': { currency: 'KWD' },
    },
    expected: [
      /^warn Harbour City Sydney: currency is NZD, but Australia\/Sydney has AUD: /,
      /^warn Outback Motors Adelaide: currency is NZD, but Australia\/Adelaide has AUD: /,
      /^warn Lakeside Auto Chicago: currency is CAD, but America\/Chicago has USD: /,
      /^warn Gulf Pearl Dubai: currency is KWD, but Asia\/Dubai has AED: /,
    ],
  },
  {
    name: 'another zone of the same country, which nothing contradicts',
    changes: { 'Harbour City Sydney': { timezone: 'Australia/Perth' } },
    expected: [],
  },
]

test.each(plants)('check warns of $name', async ({ changes, expected }) => {
  await using sandbox = await startGroups()

  const { code, checks } = await checkWith(plant(sandbox, changes))

  const found = problemsOf(sandbox, checks)
    .filter((line) => !line.startsWith('warn clock'))
    // What an evaluation says of the currency is another line, where its user prices have one.
    .filter((line) => !/but evaluation \d+ has prices in (AUD|USD|AED): /.test(line))
  expect(code).toBe(0)
  expect(found).toEqual(expected.map((line) => expect.stringMatching(line)))
})

test('an evaluation that carries another DealerID fails, one with another currency warns', async () => {
  const clock = new VirtualClock({ start: now, frozen: true })
  const userPrices = [{ amount: 9, currency: 'USD', note: null }]
  const world = worldOf({ evaluations: [anEvaluation({ userPrices })] })
  await using sandbox = await startSandbox({ world, clock })
  const config = sandbox.clientConfig()
  const wire = { appraisal: { evaluation: { dealerId: 'EvalID' } } }

  const money = await checkWith(config)
  const other = await checkWith({ ...config, wire })
  const inPlace = plant(sandbox, { 'Rooftop One': { currency: 'USD' } })
  const wrongZone = await checkWith(inPlace)

  expect(problemsOf(sandbox, wrongZone.checks)).toContain(
    'warn Rooftop One: currency is USD, but Australia/Sydney has AUD: evaluation 1001 has prices in USD too, so correct timezone',
  )
  expect(money.code).toBe(0)
  expect(money.stdout).toContain('evaluation 1001: DealerID 101, prices in USD')
  expect(problemsOf(sandbox, money.checks)).toContain(
    'warn Rooftop One: currency is AUD, but evaluation 1001 has prices in USD: correct one before the first sync',
  )
  expect(other.code).toBe(1)
  expect(problemsOf(sandbox, other.checks)).toContain(
    'fail Rooftop One: dealerId is 101, but evaluation 1001, which the list gives for it, carries DealerID 1001: correct dealerId, or wire.appraisal.evaluation.dealerId',
  )
})

test('a quiet group is not compared, and the line says so', async () => {
  await using sandbox = await startSandbox({ evaluations: 0, rooftops: 1 })

  const { code, checks } = await checkWith(sandbox.clientConfig())

  expect(code).toBe(0)
  expect(checks.find(({ name }) => name.startsWith('rooftop '))).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/; no evaluation of the last 30 days to compare with$/),
  })
})

test('an address that is still the example, or this machine with a real key, is named', async () => {
  await using sandbox = await startSandbox({ evaluations: 0, rooftops: 1 })
  const config = sandbox.clientConfig()
  const keys = Object.fromEntries(
    Object.entries(config.keys).map(([name, key]) => [name, { ...key, value: 'a-real-key' }]),
  )

  const local = await checkWith({ ...config, keys })
  const example = await checkWith({
    ...{ ...config, keys },
    appraisal: { baseUrl: 'https://appraisal.example.com/v1' },
    vehicleData: { baseUrl: 'https://data.example.com', apiKey: 'another-key' },
  })
  const warehouse = { url: 'postgres://u@127.0.0.1:1/real' }
  const mixed = await checkWith({ ...config, warehouse })

  expect(local.checks.find(({ name }) => name === 'appraisal.baseUrl')).toEqual({
    name: 'appraisal.baseUrl',
    status: 'warn',
    detail: `${config.appraisal.baseUrl} is this machine, where the sandbox runs: write the address of the service`,
  })
  expect(example.checks.filter(({ status }) => status === 'fail')).toEqual([
    {
      name: 'source',
      status: 'fail',
      detail:
        'appraisal.baseUrl is still the example, https://appraisal.example.com/v1: write the address of the service',
    },
    {
      name: 'vehicle data',
      status: 'fail',
      detail:
        'vehicleData.baseUrl is still the example, https://data.example.com: write the address of the service',
    },
  ])
  expect(mixed.checks.filter(({ name }) => name.endsWith('.baseUrl'))).toMatchObject([
    {
      detail: `${config.appraisal.baseUrl} is the sandbox: its generated vehicles would be in 127.0.0.1:1/real`,
    },
    {
      detail: `${config.vehicleData.baseUrl} is the sandbox: its generated vehicles would be in 127.0.0.1:1/real`,
    },
  ])
})
