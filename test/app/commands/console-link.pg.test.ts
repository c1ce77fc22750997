import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

let database: TestDatabase
let folder: TemporaryFolder

beforeAll(async () => {
  database = await createTestDatabase()
  folder = await temporaryFolder()
})

afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const people = [
  { email: 'kim@example.com', role: 'engineer' },
  { email: 'vic@example.com', role: 'viewer' },
]

/** Runs `console link` with these settings of the console. */
async function link(settings: unknown, ...args: string[]) {
  const config = { warehouse: { url: database.url }, console: settings }
  await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(config))
  return await runInProcess(['console', 'link', ...args], { cwd: folder.path })
}

const settings = { publicUrl: 'https://forecourt.example.com', people }

test('it prints a link for the person, and only its hash is stored', async () => {
  const { code, stdout } = await link(settings, '--email', 'VIC@example.com', '--json')

  const { url, ...rest } = JSON.parse(stdout)
  const { rows } = await database.pool.query(
    'select email, row_to_json(l)::text as line from ops.console_link as l',
  )
  expect({ code, rest }).toEqual({ code: 0, rest: { email: 'VIC@example.com', minutes: 10 } })
  expect(url).toMatch(/^https:\/\/forecourt\.example\.com\/console\/sign-in\?link=[\w-]{22}$/)
  expect(rows.map(({ email }) => email)).toEqual(['vic@example.com'])
  expect(rows[0].line).not.toContain(url.split('=')[1])
})

test('without an address it is for the only engineer', async () => {
  const { code, stdout } = await link(settings)

  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^Open this as kim@example\.com within 10 minutes; it works once:\n\nhttps:\S+\n/,
  )
})

test.for([
  ['the console is off', null, ['--email', 'kim@example.com'], 'The console is off'],
  [
    'the config does not name the person',
    settings,
    ['--email', 'eve@example.com'],
    'eve@example.com is not one of console.people (kim@example.com, vic@example.com)',
  ],
  [
    'there are two engineers',
    { ...settings, people: [...people, { email: 'al@example.com', role: 'engineer' }] },
    [],
    'Name one of console.people',
  ],
  [
    'there is no person',
    { ...settings, people: [] },
    ['--email', 'kim@example.com'],
    'it is empty',
  ],
] as const)('exit code 2 when %s', async ([, console, args, message]) => {
  const { code, stdout, stderr } = await link(console, ...args)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
})
