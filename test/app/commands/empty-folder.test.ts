import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allCommands } from '#src/app/commands/all.ts'
import { runInProcess } from '../../support/cli.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const unnamed =
  /^There is no forecourt\.yaml in \S+, and no warehouse in \S+: go to the folder of the config, name it with --config <file>, or write one with "forecourt init"\.\n$/
const noRooftops =
  /^No rooftops are configured \(no forecourt\.yaml here\): write a config with "forecourt init" /

/** Every command that reads or works on a warehouse that is there, and what it says in a folder without one. */
const commands: readonly (readonly [string, RegExp])[] = [
  ['status', noRooftops],
  ['runs list', unnamed],
  ['runs show 1', unnamed],
  ['verify', noRooftops],
  ['why 1000001', unnamed],
  ['quarantine list', unnamed],
  ['quarantine show 1', unnamed],
  ['quarantine retry', noRooftops],
  ['backfill --status', unnamed],
  ['backfill --pause', unnamed],
  ['backfill --resume', noRooftops],
  ['sync --dry-run', noRooftops],
  ['sync', noRooftops],
  ['replay', noRooftops],
  ['reprice', noRooftops],
  ['run nightly', noRooftops],
  ['serve', /^links\.token is not set, /],
  ['stock export --rooftop x', noRooftops],
  ['stock import list.csv --rooftop x --dry-run', noRooftops],
  ['lake export --to out', unnamed],
  ['mcp', /^mcp\.url is not set: /],
  ['wire check', noRooftops],
  ['wire learn --stored', noRooftops],
  ['wire record --to out', noRooftops],
  ['links show ppsr_pdf 1', noRooftops],
  ['links refresh', noRooftops],
  ['links archive', noRooftops],
  ['console link', unnamed],
  [
    'alerts test',
    /^No one gets alerts: set alerts\.url or alerts\.targets in forecourt\.yaml\.\n$/,
  ],
  ['webhooks list', noRooftops],
  ['webhooks plan', /^webhooks\.publicUrl is not set: put /],
  ['erase --eval 1 --dry-run', unnamed],
  ['erase --eval 1 --yes', unnamed],
  ['api geteval --evalid 1', noRooftops],
  ['grant --dry-run', unnamed],
  ['grant', unnamed],
  ['migrate --status', unnamed],
]

/** Commands that make what they need, work until they are stopped, or need no warehouse. */
const others = 'demo init check schedule worker warehouse completion sandbox bench'.split(' ')

test('the table has every other command', () => {
  const named = new Set([...commands.map(([line]) => line.split(' ')[0]), ...others])

  expect(
    allCommands.map(({ usage }) => usage.split(' ')[0]).filter((name) => !named.has(name)),
  ).toEqual([])
})

test.each(commands)(
  'in an empty folder %s makes no Postgres and says what to do',
  async (line, says) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'list.csv'), 'Stock No\nA1\n')

    const { code, stdout, stderr } = await runInProcess(line.split(' '), { cwd: folder.path })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(says)
    expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
  },
)

test.each(['warehouse status', 'warehouse stop', 'run', 'init --schema'])(
  'in an empty folder %s answers without a Postgres',
  async (line) => {
    await using folder = await temporaryFolder()

    const { code, stderr } = await runInProcess(line.split(' '), { cwd: folder.path })

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
  },
)

test('with a config whose console is off, console link starts no Postgres either', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'forecourt.yaml'), 'sync: { windowHours: 24 }\n')

  const result = await runInProcess(['console', 'link'], { cwd: folder.path })

  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr: 'The console is off: put a console: block into the config.\n',
  })
  expect(existsSync(join(folder.path, '.forecourt'))).toBe(false)
})
