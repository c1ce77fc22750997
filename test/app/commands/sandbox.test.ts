import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runCli } from '#src/cli.ts'
import { otherNames } from '#src/sandbox/other-names.ts'
import { firstCandidate } from '#src/values/json-path.ts'
import { CapturedOutput, runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('the sandbox speaks with other names where a seed is given', async () => {
  await using folder = await temporaryFolder()
  const [stdout, stop] = [new CapturedOutput(), new AbortController()]
  const environment = { variables: {}, cwd: folder.path }
  const running = runCli(['sandbox', '--port', '0', '--evals', '9', '--names', '4', '--json'], {
    ...{ environment, signal: stop.signal, stdout, stderr: new CapturedOutput() },
  })
  while (!stdout.text.endsWith('}\n')) await wait(10)
  const { page } = JSON.parse(stdout.text) as { page: string }

  const document = await (await fetch(`${page}openapi.json`)).text()
  stop.abort()

  const name = firstCandidate(otherNames(4).wire.appraisal.evalList.id)
  expect(document).toContain(`"${name}"`)
  expect(await running).toBe(0)
})

test('a seed that is not a number is refused', async () => {
  const { code, stderr } = await runInProcess(['sandbox', '--names', 'x'], { cwd: '/' })

  expect(code).toBe(2)
  expect(stderr).toContain('--names')
})
