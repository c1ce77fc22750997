import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { dropRoles } from '../../warehouse/access/logins.ts'

const password = 'canary-of-the-reader-4711'
const env = { BI_PASSWORD: password }

/** A folder with a config of one reader and one loader, and the command line in it. */
async function openFixture() {
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const run = randomBytes(4).toString('hex')
  const [reader, loader] = [`test_bi_${run}`, `test_loader_${run}`]
  const configOf = (url: string, names: readonly [string, string][]) => ({
    warehouse: { url },
    access: {
      logins: names.map(([name, role]) => ({ name, role, password: '$' + '{BI_PASSWORD}' })),
    },
  })
  const write = async (url: string, names: readonly [string, string][]) =>
    await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(configOf(url, names)))
  await write(database.url, [
    [reader, 'bi_reader'],
    [loader, 'forecourt_writer'],
  ])
  return {
    ...{ database, reader, loader, write },
    run: async (...args: string[]) => await runInProcess(args, { cwd: folder.path, env }),
    [Symbol.asyncDispose]: async () => {
      await dropRoles(database.url, [reader, loader])
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('grant says what it did, then that there is nothing to do, and the login reads the marts', async () => {
  await using fixture = await openFixture()

  const planned = await fixture.run('grant', '--dry-run')
  const first = await fixture.run('grant')
  const second = await fixture.run('grant')

  expect([planned.code, first.code, second.code]).toEqual([0, 0, 0])
  expect(planned.stdout).toContain(
    `-- login ${fixture.reader} has the password of the config\n-- the password of ${fixture.reader} is not shown: "forecourt grant" sets it;\n`,
  )
  expect(first.stdout).toMatch(/^Granted, \d+ changes:\n/)
  expect(first.stdout).toContain(`  login ${fixture.reader} is in bi_reader\n`)
  expect(second.stdout).toMatch(
    /^Nothing to do: all rights, and 2 logins, are as they should be\.\n/,
  )
  const all = [planned, first, second].map(({ stdout, stderr }) => stdout + stderr).join('')
  expect(all).not.toContain(password)
  expect(all).not.toContain('SCRAM')
  const address = new URL(fixture.database.url)
  Object.assign(address, { username: fixture.reader, password })
  const client = new pg.Client({ connectionString: address.href })
  await client.connect()
  const { rows } = await client.query('select count(*)::int as days from dim_date')
  await client.end()
  expect(rows[0].days).toBeGreaterThan(10_000)
})

test('with --json there is one document, the same for a dry run and the grant', async () => {
  await using fixture = await openFixture()

  const planned = JSON.parse((await fixture.run('grant', '--dry-run', '--json')).stdout)
  const done = JSON.parse((await fixture.run('grant', '--json')).stdout)

  expect(planned).toMatchObject({ dryRun: true, notes: [] })
  expect(done.dryRun).toBe(false)
  expect(done.steps).toEqual(planned.steps)
  expect(done.logins).toEqual([
    { name: fixture.reader, role: 'bi_reader', groups: [] },
    { name: fixture.loader, role: 'forecourt_writer', groups: [] },
  ])
})

test('grant names a login that was taken out of the config, and the statement that removes it', async () => {
  await using fixture = await openFixture()
  await fixture.run('grant')
  await fixture.write(fixture.database.url, [[fixture.loader, 'forecourt_writer']])

  const { code, stdout } = await fixture.run('grant')

  expect(code).toBe(0)
  expect(stdout).toContain(
    `The login ${fixture.reader} is in bi_reader and was made by grant, but the config no longer names it ("forecourt grant --revoke-removed" shuts it out). To take that away: drop role "${fixture.reader}";`,
  )
})

test('grant by a login that does not own the warehouse ends with one sentence and exit code 2', async () => {
  await using fixture = await openFixture()
  await fixture.run('grant')
  const address = new URL(fixture.database.url)
  const owner = address.username
  Object.assign(address, { username: fixture.loader, password })
  await fixture.write(address.href, [[fixture.reader, 'bi_pii_reader']])

  const { code, stderr, stdout } = await fixture.run('grant')

  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr).toBe(
    `${fixture.loader} does not own the warehouse, so it cannot grant access: run "forecourt grant" as the owner (${owner}).\n`,
  )
})
