import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { clientExamples, runExample, usingSandbox, writeExamples } from './examples.ts'

const client = fileURLToPath(new URL('../../../src/api/client/client.ts', import.meta.url))

test('every example of the page runs against the sandbox', async () => {
  await using sandbox = await startSandbox({
    evaluations: 2000,
    now: new Date('2026-03-10T02:00Z'),
  })
  await using folder = await temporaryFolder()
  await writeUnpacked(folder.path, sandbox)
  const outputOf = async (name: string) => await runExample(folder.path, name, sandbox)

  expect([...(await clientExamples()).keys()]).toEqual([
    ...['services.ts', 'evaluations.ts', 'prices.ts', 'checks.ts'],
  ])
  expect(await outputOf('evaluations.ts')).toMatch(
    /^\d+ evaluations were created since .*\n(\d+: [\d.]+\n){3}$/,
  )
  expect(await outputOf('prices.ts')).toMatch(/^Toyota HiLux is AU0TOYHILUX01\nS-1: \d+ AUD\n$/)
  const checks = await outputOf('checks.ts')
  expect(checks).toMatch(/^\d+: the newest search is [a-z_]+$/m)
  expect(checks).toMatch(
    /^400 recordRefused: POST \/getpastppsrsearch for evaluation \d+ of rooftop/m,
  )
})

test('the example of evaluations says which has no price, and which cannot be read', {
  tags: 'ci',
}, async () => {
  // Then the first one on the list has no final price.
  await using sandbox = await startSandbox({
    evaluations: 2000,
    now: new Date('2026-11-23T23:10Z'),
  })
  await using folder = await temporaryFolder()
  await writeUnpacked(folder.path, sandbox)

  const readable = await runExample(folder.path, 'evaluations.ts', sandbox)
  const fault = { kind: 'status', status: 400 } as const
  sandbox.faults.add({ match: { path: '/geteval' }, fault, times: 1 })
  const deleted = await runExample(folder.path, 'evaluations.ts', sandbox)

  expect(readable).toMatch(/^\d+: no final price\n(\d+: [\d.]+\n){2}/m)
  expect(deleted).toMatch(/^\d+: recordRefused\n(\d+: [\d.]+\n){2}/m)
})

/** The examples with the client of this checkout instead of the package. */
async function writeUnpacked(path: string, sandbox: Sandbox) {
  const edit = usingSandbox(sandbox)
  await writeExamples(path, (code) => edit(code).replace("'forecourt-client'", `'${client}'`))
}
