import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { smallFixture } from '../../app/commands/sync-fixture.ts'
import { someOf } from '../../support/cases.ts'
import { type Child, startForecourt, until } from '../../support/child.ts'
import { openChildFixture } from '../../support/child-fixture.ts'
import { createTestDatabase, emptyTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Databases without a schema that a program may use. */
const databases = {
  empty: emptyTestDatabase,
  'of another program': async () =>
    await changed(emptyTestDatabase(), 'create table customer (id int); create schema ops'),
  // A restore creates the tables first, then copies their rows, then adds the keys.
  'in a restore, before its rows': async () =>
    await changed(
      createTestDatabase(),
      `truncate ops.schema_migration;
       alter table ops.schema_migration drop constraint schema_migration_pkey`,
    ),
  'in a restore of an older schema, before its keys': async () =>
    await changed(
      createTestDatabase(),
      `delete from ops.schema_migration where version = (select max(version) from ops.schema_migration);
       alter table ops.schema_migration drop constraint schema_migration_pkey`,
    ),
}

async function changed(opening: Promise<TestDatabase>, statements: string): Promise<TestDatabase> {
  const database = await opening
  await database.pool.query(statements)
  return database
}

/** Every schema, table, view and function of the database, and the applied migrations. */
async function contentsOf({ pool }: TestDatabase): Promise<unknown> {
  const { rows } = await pool.query(
    `select n.nspname, c.relname from pg_namespace n left join pg_class c on c.relnamespace = n.oid
     where n.nspname !~ '^(pg_|information_schema)' order by 1, 2`,
  )
  const ledger = await pool.query('table ops.schema_migration').catch(() => ({ rows: [] }))
  return { rows, ledger: ledger.rows }
}

const oneOff = [
  ['sync'],
  ['sync', '--rooftop', 'rooftop-1'],
  ['backfill', 'evaluations', '--from', '2026-03-01'],
  ['run', 'nightly'],
  ['replay', 'evaluations'],
  ['status'],
  ['verify'],
  ['grant'],
  ['erase', '--email', 'a@b.example', '--yes'],
  ['quarantine', 'list'],
  ['links', 'refresh'],
  ['stock', 'watch', '/nowhere', '--rooftop', 'rooftop-1', '--once'],
]

for (const [what, open] of Object.entries(databases)) {
  test(`a one-off command changes nothing in a database ${what}, and names migrate`, async () => {
    await using fixture = await openChildFixture(smallFixture())
    await using database = await open()
    await using warehouse = await fixture.warehouse(database)
    const before = await contentsOf(database)

    const results = []
    for (const args of someOf(oneOff, 4)) {
      const { code, stderr } = await warehouse.run(args)
      results.push({ args, code, names: stderr.includes('"forecourt migrate"') })
    }

    expect(results).toEqual(results.map(({ args }) => ({ args, code: 2, names: true })))
    expect(await contentsOf(database)).toEqual(before)
  })
}

test('worker, schedule, serve and stock watch wait for the schema, say so once, and start when migrate has created it', async () => {
  await using fixture = await openChildFixture(smallFixture())
  await using folder = await temporaryFolder()
  await using database = await emptyTestDatabase()
  await using warehouse = await fixture.warehouse(database)
  const before = await contentsOf(database)
  const file = join(folder.path, 'serve.yaml')
  const links = { token: 'a-token-of-this-test' }
  const input = { ...fixture.sandbox.clientConfig(), links, warehouse: { url: database.url } }
  await writeFile(file, JSON.stringify(input))
  const watched = ['stock', 'watch', folder.path, '--rooftop', 'rooftop-1']
  const starts: [() => Child, RegExp][] = [
    [() => warehouse.start(['worker']), /at work/],
    [
      () => startForecourt(['--config', file, 'serve', '--port', '0'], { cwd: folder.path }),
      /Serving/,
    ],
    [() => warehouse.start(['schedule']), /is scheduled/],
    [() => warehouse.start(watched), /watching/],
  ]
  const children = someOf(starts, 2).map(([start, started]) => [start(), started] as const)

  for (const [child] of children)
    await until(() => /has no schema.*forecourt migrate.*Trying again/.test(child.stderr()))
  expect(await contentsOf(database)).toEqual(before)
  expect((await warehouse.run(['migrate'])).code).toBe(0)

  for (const [child, started] of children) {
    await until(() => started.test(child.stderr() + child.stdout()))
    expect(child.stderr().match(/has no schema/g)).toHaveLength(1)
    child.kill('SIGTERM')
    expect(await child.ended).toMatchObject({ code: 143 })
  }
})
