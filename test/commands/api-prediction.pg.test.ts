import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { runInProcess } from '../support/cli.ts'
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

/** As if the source called these parts of its answers by other names than it does. */
async function renameParts({ cwd }: BillingFixture, prediction: Readonly<Record<string, string>>) {
  const file = join(cwd, 'forecourt.yaml')
  const config = parse(await readFile(file, 'utf8')) as object
  await writeFile(file, stringify({ ...config, wire: { vehicleData: { prediction } } }))
}

test('a prediction that is answered with an id and no status is waited for', async () => {
  await using office = await openBillingFixture({ budget: { prediction: 1 } })
  await renameParts(office, { status: 'not.shown' })

  const waiting = runInProcess([...predict, '--every', '0.2'], office)
  await expect
    .poll(() => office.sandbox.requests.count('/prediction/{requestId}'), { timeout: 20_000 })
    .toBeGreaterThan(1)
  office.sandbox.clock.advance(120_000)
  const { code, stdout } = await waiting

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ dealer: expect.anything() })
})

test('a prediction without an id or a status names the setting of the id, and shows what was paid for', async () => {
  await using office = await openBillingFixture({ budget: { prediction: 1 } })
  await renameParts(office, { status: 'not.shown', requestId: 'nor.this' })

  const { code, stdout, stderr } = await runInProcess(predict, office)

  expect(code).toBe(1)
  expect(stderr).toContain('wire.vehicleData.prediction.requestId')
  expect(JSON.parse(stdout)).toMatchObject({ requestId: expect.anything() })
})

test('a code with other kilometres is another vehicle; a repeat is known however it is typed', async () => {
  await using office = await openBillingFixture({ budget: { prediction: 5 } })
  const predictCode = (code: string, km: string) =>
    runInProcess(['api', 'prediction', '--adcode', code, '--km', km, '--yes'], office)

  expect((await predictCode('AU0TOYHILUX01', '48000')).code).toBe(0)
  expect((await predictCode('AU0TOYHILUX01', '120000')).code).toBe(0)
  const repeat = await predictCode('au0toyhilux01', '48000')

  expect(repeat.code).toBe(2)
  expect(repeat.stderr).toContain('is valid for 1 day: nothing was sent')
  expect(await office.bills()).toEqual([
    ['prediction', 'AU0TOYHILUX01/48000', 'committed', 200],
    ['prediction', 'AU0TOYHILUX01/120000', 'committed', 200],
  ])
})
