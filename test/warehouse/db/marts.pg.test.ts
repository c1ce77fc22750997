import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { readMarts } from '#src/warehouse/db/mart-files.ts'
import { buildMarts, martsAreCurrent } from '#src/warehouse/db/marts.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const view = (name: string, columns: string) =>
  `-- grain: one row per thing\ncreate or replace view mart.${name} as\nselect ${columns};\n`

async function martsOf(files: Record<string, string>) {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'VERSION'), '1.0.0\n')
  for (const [name, sql] of Object.entries(files)) await writeFile(join(folder.path, name), sql)
  return await readMarts(folder.path)
}

async function columnsOf({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select table_schema || '.' || table_name || '.' || column_name as name from information_schema.columns
     where table_schema in ('mart', 'mart_scoped', 'mart_pii') order by 1`,
  )
  return rows.map((row) => row.name)
}

test('every mart exists in both schemas, and a second build changes nothing', async () => {
  await using database = await createTestDatabase()
  const marts = await martsOf({ '10_car.sql': view('car', '1 as wheels') })

  await buildMarts(database.pool, undefined, marts)
  await buildMarts(database.pool, undefined, marts)

  expect(await columnsOf(database)).toEqual(['mart.car.wheels', 'mart_scoped.car.wheels'])
  const { rows } = await database.pool.query('select from ops.mart_version where checksum = $1', [
    marts.checksum,
  ])
  expect(rows).toHaveLength(1)
})

test('eight processes at once build the marts once', async () => {
  await using database = await createTestDatabase()
  const marts = await martsOf({ '10_car.sql': view('car', '1 as wheels') })
  const pools = await Promise.all(
    Array.from({ length: 8 }, () => openPool(database.url, { applicationName: 'builder', max: 1 })),
  )

  await Promise.all(pools.map((pool) => buildMarts(pool, undefined, marts)))
  await Promise.all(pools.map((pool) => pool.end()))

  const { rows } = await database.pool.query('select from ops.mart_version where checksum = $1', [
    marts.checksum,
  ])
  expect(rows).toHaveLength(1)
})

test('an added column keeps the objects that users have built on the marts', async () => {
  await using database = await createTestDatabase()
  await buildMarts(database.pool, undefined, await martsOf({ '10_car.sql': view('car', '1 as a') }))
  await database.pool.query('create view public.theirs as select * from mart.car')
  const more = await martsOf({ '10_car.sql': view('car', '1 as a, 2 as b') })

  await buildMarts(database.pool, undefined, more)

  expect((await database.pool.query('select * from public.theirs')).rows).toEqual([{ a: 1 }])
  expect(await columnsOf(database)).toContain('mart.car.b')
})

test('retyping a column under a view of a user is refused with the name of the view, and nothing changes', async () => {
  await using database = await createTestDatabase()
  const old = await martsOf({ '10_car.sql': view('car', '1 as a') })
  await buildMarts(database.pool, undefined, old)
  await database.pool.query('create view public.theirs as select * from mart.car')
  const other = await martsOf({ '10_car.sql': view('car', "'x'::varchar(3) as a") })

  const building = buildMarts(database.pool, undefined, other)

  await expect(building).rejects.toThrow(/view theirs depends on view mart\.car/)
  expect(await martsAreCurrent(database.pool, old)).toBe(true)
  await database.pool.query('drop view public.theirs')
  await buildMarts(database.pool, undefined, other)
  expect(await martsAreCurrent(database.pool, other)).toBe(true)
})

test('a mart removed from the folder is dropped, and a mart dropped by hand is created again', async () => {
  await using database = await createTestDatabase()
  const two = { '10_car.sql': view('car', '1 as a'), '11_van.sql': view('van', '1 as a') }
  await buildMarts(database.pool, undefined, await martsOf(two))
  const one = await martsOf({ '11_van.sql': two['11_van.sql'] })

  await buildMarts(database.pool, undefined, one)
  const after = await columnsOf(database)
  await database.pool.query('drop view mart_scoped.van')
  await buildMarts(database.pool, undefined, one)

  expect(after).toEqual(['mart.van.a', 'mart_scoped.van.a'])
  expect(await columnsOf(database)).toEqual(after)
})

test('a broken file is named and no mart changes', async () => {
  await using database = await createTestDatabase()
  const good = await martsOf({ '10_car.sql': view('car', '1 as a') })
  await buildMarts(database.pool, undefined, good)
  const broken = {
    '10_car.sql': view('car', '1 as b'),
    '11_van.sql': view('van', 'no_such_column'),
  }

  const building = buildMarts(database.pool, undefined, await martsOf(broken))

  await expect(building).rejects.toThrow(/sql\/marts\/11_van\.sql failed .*no_such_column/)
  expect(await columnsOf(database)).toEqual(['mart.car.a', 'mart_scoped.car.a'])
})

test.each([
  ['a file that is misnamed', { 'car.sql': view('car', '1 as a') }, /car\.sql is not named like/],
  [
    'a file without a grain',
    { '10_car.sql': 'create or replace view mart.car as select 1' },
    /-- grain/,
  ],
  ['a file that makes another view', { '10_van.sql': view('car', '1 as a') }, /mart\.van as/],
])('%s is refused', async (_, files, message) => {
  const reading = martsOf(files as Record<string, string>)

  await expect(reading).rejects.toThrow(UsageError)
  await expect(reading).rejects.toThrow(message)
})
