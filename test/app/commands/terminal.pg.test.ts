import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSandbox } from '#src/sandbox/server.ts'
import { someOf } from '../../support/cases.ts'
import { forecourt } from '../../support/child.ts'
import { configText } from '../../support/child-fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { smallFixture } from './sync-fixture.ts'

const esc = '\u001b'
const colour = new RegExp(`${esc}\\[[\\d;]*m`)

/** Where Node shows colours: a variable like CI, which a build machine sets, turns them off. */
const terminal = {
  TERM: 'xterm-256color',
  ...Object.fromEntries(
    ['CI', 'TF_BUILD', 'TEAMCITY_VERSION', 'NO_COLOR', 'NODE_DISABLE_COLORS', 'FORCE_COLOR'].map(
      (name) => [name, undefined],
    ),
  ),
}

/** Runs a command in a terminal of 80 columns and 5 lines; gives everything that it was sent. `before` runs first, outside. */
async function inTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  before: readonly (readonly string[])[] = [],
): Promise<string> {
  const options = smallFixture()
  await using sandbox = {
    ...(await startSandbox(options.sandbox)),
    [Symbol.asyncDispose]: () => sandbox.close(),
  }
  await using folder = await temporaryFolder()
  const database = await createTestDatabase()
  const file = join(folder.path, 'forecourt.yaml')
  await writeFile(file, configText(sandbox, database.url, options))
  for (const earlier of before)
    await forecourt([...earlier, '--config', file], { cwd: folder.path })
  const inScript = `exec script -qec "stty cols 80 rows 5; $(printf '%q ' "$@")" /dev/null`
  const { code, stdout } = await forecourt([...args, '--config', file], {
    cwd: folder.path,
    env: { ...terminal, ...env },
    launcher: ['bash', '-c', inScript, 'bash'],
  })
  expect(code).toBeLessThan(2)
  return stdout
}

/** What is on the screen at the end, for the few sequences that are used. */
function screenOf(sent: string): string[] {
  const lines = ['']
  let row = 0
  let column = 0
  const tokens = new RegExp(
    `${esc}\\[(\\?\\d+[hl]|\\d*)([A-HJK]?)(?:m|[\\d;]*m)?|[\\r\\n]|[^${esc}\\r\\n]`,
    'gu',
  )
  for (const [token, count = '', kind = ''] of sent.matchAll(tokens)) {
    if (token === '\r' || kind === 'G') column = 0
    else if (token === '\n') row++
    else if (kind === 'A') row = Math.max(0, row - Number(count || 1))
    else if (kind === 'B') row += Number(count || 1)
    else if (kind === 'K') lines[row] = count === '2' ? '' : lines[row]!.slice(0, column)
    else if (!token.startsWith(esc)) {
      lines[row] =
        (lines[row] ?? '').slice(0, column).padEnd(column) +
        token +
        (lines[row] ?? '').slice(column + 1)
      column++
    }
    lines[row] ??= ''
  }
  return lines
}

test('a run in a terminal shows at once that it works, then a line a stream, and leaves nothing of it behind', async () => {
  const sent = await inTerminal(['sync'])

  expect(sent).toMatch(/^\S*Working … 0s/)
  const screen = screenOf(sent)
  expect(screen.filter((line) => /Working|[█░]/.test(line))).toEqual([])
  expect(screen.join('\n')).toMatch(
    /Run \d+: ok in .*\n +stream: evaluations\n +listed: \d+, hydrated/,
  )
  expect(sent).toMatch(colour)
})

test.each(someOf([[['status', '--all']], [['runs', 'show', '1']]], 1))(
  'a table of %j that is wider than the terminal is shown as blocks',
  async (args) => {
    const sent = await inTerminal(args, {}, [['sync']])

    const screen = screenOf(sent)
    expect(screen.filter((line) => line.length > 80 && /\S {2,}\S/.test(line))).toEqual([])
    expect(screen.join('\n')).toMatch(/\n {2}rooftop: .*\n {4}stream: evaluations, status: ok/)
  },
)

test('NO_COLOR turns the colours of the log off', { tags: 'ci' }, async () => {
  const sent = await inTerminal(['sync'], { NO_COLOR: '1' })

  expect(sent).toContain('WARN')
  expect(sent).not.toMatch(colour)
})

test('the result of a command that runs nothing itself stays on the screen', {
  tags: 'ci',
}, async () => {
  const sent = await inTerminal(['backfill', 'evaluations', '--from', '2026-03-01', '--detach'])

  const screen = screenOf(sent).join('\n')
  expect(screen).toMatch(/Run \d+/)
  expect(screen).not.toMatch(/Working/)
})
