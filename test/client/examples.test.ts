import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startSandbox } from '#src/sandbox/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { clientExamples, runExample, usingSandbox, writeExamples } from './examples.ts'

const client = fileURLToPath(new URL('../../src/client/client.ts', import.meta.url))

test('every example of the page runs against the sandbox', async () => {
  await using sandbox = await startSandbox({ evaluations: 2000 })
  await using folder = await temporaryFolder()
  const edit = usingSandbox(sandbox)
  await writeExamples(folder.path, (code) =>
    edit(code).replace("'forecourt/client'", `'${client}'`),
  )
  const outputOf = async (name: string) => await runExample(folder.path, name, sandbox)

  expect([...(await clientExamples()).keys()]).toEqual([
    ...['services.ts', 'evaluations.ts', 'prices.ts', 'checks.ts'],
  ])
  expect(await outputOf('evaluations.ts')).toMatch(
    /^\d+ evaluations were created since .*\n\d+ is worth \d+\n$/,
  )
  expect(await outputOf('prices.ts')).toMatch(/^Toyota HiLux is AU0TOYHILUX01\nS-1: \d+ AUD\n$/)
  const checks = await outputOf('checks.ts')
  expect(checks).toMatch(/^\d+: the newest search is [a-z_]+$/m)
  expect(checks).toMatch(
    /^400 recordRefused: POST \/getpastppsrsearch for evaluation \d+ of rooftop/m,
  )
})
