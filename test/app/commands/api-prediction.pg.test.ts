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

test('a code with other kilometres is another vehicle; a repeat is recognised in any spelling', async () => {
  await using fixture = await openBillingFixture({ budget: { prediction: 5 } })
  const predictCode = (code: string, km: string) =>
    runInProcess(['api', 'prediction', '--adcode', code, '--km', km, '--yes'], fixture)

  expect((await predictCode('AU0TOYHILUX01', '48000')).code).toBe(0)
  expect((await predictCode('AU0TOYHILUX01', '120000')).code).toBe(0)
  const repeat = await predictCode('au0toyhilux01', '48000')

  expect(repeat.code).toBe(2)
  expect(repeat.stderr).toContain('is valid for 1 day: nothing was sent')
  expect(await fixture.bills()).toEqual([
    ['prediction', 'AU0TOYHILUX01/48000', 'committed', 200],
    ['prediction', 'AU0TOYHILUX01/120000', 'committed', 200],
  ])
})
