import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runCli } from '#src/cli.ts'
import { otherNames } from '#src/sandbox/other-names.ts'
import { firstCandidate } from '#src/values/json-path.ts'
import { allHeldNames } from '#src/values/wire.ts'
import { otherService } from '../../api/learn/other-services.ts'
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
  const { page, wire } = JSON.parse(stdout.text) as { page: string; wire: unknown }

  const document = await (await fetch(`${page}openapi.json`)).text()
  stop.abort()

  const name = firstCandidate(otherNames(4).wire.appraisal.evalList.id)
  expect(document).toContain(`"${name}"`)
  expect(wire).toEqual({ appraisal: { held: allHeldNames } })
  expect(await running).toBe(0)
})

test('the sandbox answers as a recording does, and says of how much', async () => {
  const { answers } = await otherService(4)
  await using folder = await temporaryFolder()
  for (const [at, { operation, request, body }] of answers.entries())
    await writeFile(
      join(folder.path, `${at}.json`),
      JSON.stringify({ operation, request, answer: body }),
    )
  const [stdout, stop] = [new CapturedOutput(), new AbortController()]
  const environment = { variables: {}, cwd: folder.path }
  const args = ['sandbox', '--port', '0', '--evals', '40', '--answers', folder.path]
  const running = runCli(args, {
    ...{ environment, signal: stop.signal, stdout, stderr: new CapturedOutput() },
  })
  while (!stdout.text.includes('rooftops:')) await wait(10)
  const [page] = /http:\S+\/(?= , shows)/.exec(stdout.text)!

  const document = await (await fetch(`${page}openapi.json`)).text()
  stop.abort()

  const { evalList } = otherNames(4).wire.appraisal
  expect(document.includes(`"${firstCandidate(evalList.id)}"`)).toBe(true)
  expect(stdout.text).toMatch(
    /It answers as recorded: \d+ recorded answers\. \d of 28 examined settings are proved/,
  )
  expect(await running).toBe(0)
})

test('answers that cannot be played are refused with the reason', async () => {
  await using folder = await temporaryFolder()
  const written = async (name: string, text: string) => {
    await mkdir(join(folder.path, name))
    await writeFile(join(folder.path, name, 'geteval-1.json'), text)
  }
  await mkdir(join(folder.path, 'empty'))
  await written('broken', '[{"EvalID": 1')
  await written('deep', `[{"EvalID": 1, "x": ${'['.repeat(5000)}${']'.repeat(5000)}}]`)
  const refused = async (name: string, ...more: string[]) => {
    const args = ['sandbox', '--answers', join(folder.path, name), ...more]
    const { code, stderr } = await runInProcess(args, { cwd: folder.path })
    expect(code).toBe(2)
    return stderr.replaceAll(`${folder.path}/`, '')
  }

  expect(await refused('nowhere')).toMatch(/^nowhere cannot be read: ENOENT/)
  expect(await refused('empty')).toBe(
    'empty has no answer: name a folder that "forecourt wire record" wrote.\n',
  )
  expect(await refused('broken')).toBe('broken/geteval-1.json cannot be read: it is not JSON.\n')
  expect(await refused('deep')).toBe('deep has an answer that is nested more than 100 deep.\n')
  expect(await refused('empty', '--names', '4')).toMatch(
    /^--names and --answers exclude each other/,
  )
})

test('a seed that is not a number is refused', async () => {
  const { code, stderr } = await runInProcess(['sandbox', '--names', 'x'], { cwd: '/' })

  expect(code).toBe(2)
  expect(stderr).toContain('--names')
})
