import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { runInProcess } from '../../support/cli.ts'
import { type BillingFixture, openBillingFixture } from './api-bill-fixture.ts'

const predict = [
  'api',
  'prediction',
  '--vin',
  'SAMPLEAU000000001',
  '--reasoning',
  '--yes',
  '--wait',
]

/** Wire settings with other names than the source uses. */
async function renameParts({ cwd }: BillingFixture, prediction: Readonly<Record<string, string>>) {
  const file = join(cwd, 'forecourt.yaml')
  const config = parse(await readFile(file, 'utf8')) as object
  await writeFile(file, stringify({ ...config, wire: { vehicleData: { prediction } } }))
}

test('a prediction answered with an id and no status is polled', async () => {
  await using fixture = await openBillingFixture({ budget: { prediction: 1 } })
  await renameParts(fixture, { status: 'not.shown' })

  const waiting = runInProcess([...predict, '--every', '0.2'], fixture)
  await expect
    .poll(() => fixture.sandbox.requests.count('/prediction/{requestId}'))
    .toBeGreaterThan(1)
  fixture.sandbox.clock.advance(120_000)
  const { code, stdout } = await waiting

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ dealer: expect.anything() })
})

test('for a prediction without id and status the error names the setting of the id, and the paid answer is shown', async () => {
  await using fixture = await openBillingFixture({ budget: { prediction: 1 } })
  await renameParts(fixture, { status: 'not.shown', requestId: 'nor.this' })

  const { code, stdout, stderr } = await runInProcess(predict, fixture)

  expect(code).toBe(1)
  expect(stderr).toContain('wire.vehicleData.prediction.requestId')
  expect(JSON.parse(stdout)).toMatchObject({ requestId: expect.anything() })
})

test.for([
  ['--adcode', 'AU0TOYHILUX01'],
  ['--vin', 'SAMPLEAU000000001'],
] as const)(
  'a prediction by %s for other kilometres, another date or with reasons is another one; a repeat is recognised in any spelling',
  async ([by, name]) => {
    await using fixture = await openBillingFixture({ budget: { prediction: 9 } })
    const predictFor = (spelling: string, details: readonly string[]) =>
      runInProcess(['api', 'prediction', by, spelling, ...details, '--yes'], fixture)
    const [other, past] = [
      ['--km', '95000'],
      ['--predictDate', '2026-01-31'],
    ] as const
    const each = [
      [],
      ['--km', '48000'],
      other,
      [...other, ...past],
      past,
      [...other, '--reasoning'],
      [...other, ...past, '--reasoning'],
    ]

    for (const details of each) expect(await predictFor(name, details)).toMatchObject({ code: 0 })
    const repeats = [[], ['--reasoning', 'false'], [...past, ...other]]
    for (const details of repeats) {
      const repeat = await predictFor(name.toLowerCase(), details)
      expect(repeat.stderr).toContain('is valid for 1 day: nothing was sent')
      expect(repeat.code).toBe(2)
    }

    const subjects = [
      ...['', '/48000', '/95000', '/95000/2026-01-31', '/2026-01-31'],
      ...['/95000/reasoning', '/95000/2026-01-31/reasoning'],
    ]
    expect(await fixture.bills()).toEqual(
      subjects.map((details) => ['prediction', name + details, 'committed', 200]),
    )
    const { stdout } = await runInProcess(['--json', 'status'], fixture)
    const { spend } = JSON.parse(stdout) as {
      spend: { prediction: { calls: { vin: string | null }[] } }
    }
    expect(new Set(spend.prediction.calls.map(({ vin }) => vin))).toEqual(
      new Set([by === '--vin' ? name : null]),
    )
  },
)
