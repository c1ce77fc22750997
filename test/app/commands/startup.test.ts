import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))
/** Prints the address of every module that the process loads. */
const listModules = `data:text/javascript,import { registerHooks } from 'node:module'; registerHooks({ load: (url, context, next) => (console.error('loads ' + url), next(url, context)) })`

function loadedPackages(args: readonly string[], home: string): string[] {
  const script = `process.argv.splice(1, 0, ${JSON.stringify(main)}); await import(${JSON.stringify(main)})`
  const shell = `exec "$0" --import "$1" --input-type=module -e "$2" -- "\${@:3}" 2>&1`
  const output = execFileSync(
    'bash',
    ['-c', shell, process.execPath, listModules, script, ...args],
    {
      env: { PATH: process.env['PATH'], HOME: home },
      encoding: 'utf8',
    },
  )
  const names = [...output.matchAll(/^loads file:.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)]
  return [...new Set(names.map(([, name]) => name!))].sort()
}

test.for(someOf([['--version'], ['--help'], ['why', '--help'], ['webhooks', 'plan', '--help']], 2))(
  '%s loads nothing of what the commands run',
  async (args) => {
    await using home = await temporaryFolder()

    expect(loadedPackages(args, home.path)).toEqual(['commander'])
  },
)

test('the help of an operation loads only what describes its fields', async () => {
  await using home = await temporaryFolder()

  expect(loadedPackages(['api', 'geteval', '--help'], home.path)).toEqual(['commander', 'zod'])
})

test('compiled code is stored in a folder of the user, and a home that cannot be written is not a fault', async () => {
  await using home = await temporaryFolder()

  const version = execFileSync(process.execPath, [main, '--version'], {
    env: { HOME: home.path },
    encoding: 'utf8',
  })
  const without = execFileSync(process.execPath, [main, '--version'], {
    env: { HOME: '/dev/null' },
    encoding: 'utf8',
  })

  expect(existsSync(join(home.path, '.cache', 'forecourt'))).toBe(true)
  expect(without).toBe(version)
})
