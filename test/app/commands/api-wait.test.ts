import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { startForecourt } from '../../support/child.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Fixture extends AsyncDisposable {
  readonly cwd: string
  readonly sandbox: Sandbox
}

/** A sandbox with evaluation 1001, and a config whose wire section may differ from that of the sandbox. */
async function openFixture(wire: ConfigInput['wire'] = {}, spoken = defaultWire): Promise<Fixture> {
  const world = worldOf({ evaluations: [anEvaluation()] })
  const sandbox = await startSandbox({ world, wire: spoken })
  const folder = await temporaryFolder()
  const config = { ...sandbox.clientConfig(), wire }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  return {
    cwd: folder.path,
    sandbox,
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const vehicles = '[{"reference":"S-1","adcode":"AU0TOYHILUX01"}]'
const submit = ['api', 'price-batch', '--vehicles', vehicles, '--market', 'AU']

test('a batch is polled until its prices are complete', async () => {
  await using fixture = await openFixture()

  const { code, stdout, stderr } = await runInProcess(
    [...submit, '--wait', '--every', '0.1'],
    fixture,
  )

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    percentComplete: 100,
    results: [{ reference: 'S-1' }],
  })
  expect(stderr).toContain('"batchId":"B-1')
})

test.each([
  { path: '/v1/price-batch?batch={batchId}' },
  { path: '/v1/price-batch?view=full&batch={batchId}' },
  { path: '/v1/price-batch/status', batchId: 'batch' },
  { method: 'POST', path: '/v1/price-batch-status', batchId: 'batch' },
  { method: 'POST', path: '/v1/price-batch-status?batch={batchId}' },
] as const)('a batch is polled as %o says', async (poll) => {
  const wire = { vehicleData: { priceBatch: { poll } } }
  await using fixture = await openFixture(wire, wireSettings.parse(wire))

  const { code, stdout } = await runInProcess([...submit, '--wait', '--every', '0.1'], fixture)

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ results: [{ reference: 'S-1' }] })
})

test('without --wait the first answer is the result', async () => {
  await using fixture = await openFixture()

  const { code, stdout } = await runInProcess(submit, fixture)

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ batchId: expect.stringMatching(/^B-1/) })
})

test('an interruption keeps the id and says how to poll again', { tags: 'ci' }, async () => {
  await using fixture = await openFixture()

  const args = ['--json', ...submit, '--wait', '--every', '30']
  const child = startForecourt(args, { cwd: fixture.cwd })
  await expect.poll(() => child.stderr()).toContain('price-batch has started')
  child.kill('SIGINT')
  const { code, stdout, stderr } = await child.ended

  expect(code).toBe(130)
  const { batchId } = JSON.parse(stdout)
  expect(stderr).toContain(`forecourt api price-batch-status --batchId ${batchId}`)
})

test.each([
  ['submit: { batchId: nope }', { submit: { batchId: 'nope' } }, 'priceBatch.submit.batchId'],
  ['poll: { percentComplete: nope }', { poll: { percentComplete: 'nope' } }, 'percentComplete'],
  ['poll: { results: nope }', { poll: { results: 'nope' } }, 'priceBatch.poll.results'],
])(
  'a wrong wire setting (%s) ends the wait with its name, and the answer is stored',
  async (_, priceBatch, setting) => {
    await using fixture = await openFixture({ vehicleData: { priceBatch } })

    const { code, stdout, stderr } = await runInProcess(
      [...submit, '--wait', '--every', '0.1'],
      fixture,
    )

    expect(code).toBe(1)
    expect(stderr).toContain(setting)
    expect(JSON.parse(stdout)).toMatchObject({ batchId: expect.stringMatching(/^B-1/) })
  },
)

test('reasoning is polled at the same address until it has ended', async () => {
  await using fixture = await openFixture()

  const args = ['api', 'pricingAi', '--evalid', '1001', '--reasoning', '--wait', '--every', '0.1']
  const waiting = runInProcess(args, fixture)
  await expect
    .poll(() => fixture.sandbox.requests.count('/pricingAi/payload/{evalid}'))
    .toBeGreaterThan(1)
  fixture.sandbox.clock.advance(120_000)
  const { code, stdout } = await waiting

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    reasoning: { status: expect.stringMatching(/completed|unavailable/) },
  })
})

test('a success without a body is an error where the document shows one', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture()
  fixture.sandbox.faults.add({ match: { path: '/geteval' }, fault: { kind: 'empty' } })

  const { code, stderr } = await runInProcess(['api', 'geteval', '--evalid', '1001'], fixture)

  expect(code).toBe(1)
  expect(stderr).toContain('the body is empty')
})

test('an upload beyond the limit is answered 413, and the answer is read', async () => {
  await using fixture = await openFixture()
  const file = join(fixture.cwd, 'huge.jpg')
  await writeFile(file, Buffer.alloc(40 * 1024 * 1024))

  const args = ['api', 'imageupload', '--evalid', '1001', '--file', file, '--yes']
  const { code, stderr } = await runInProcess(args, fixture)

  expect(code).toBe(1)
  expect(stderr).toContain('answered 413')
})
