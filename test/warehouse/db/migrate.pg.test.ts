import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { assertSchemaCurrent, migrate, migrationStatus } from '#src/warehouse/db/migrate.ts'
import { migrationsFolder, readMigrations } from '#src/warehouse/db/migration-files.ts'
import { emptyTestDatabase } from '../../support/postgres.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

const first = 'create schema shop;\ncreate table shop.car (car_id int primary key);\n'
const second = 'alter table shop.car add column colour text;\n'

async function folderWith(files: Record<string, string>): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  for (const [name, sql] of Object.entries(files)) await writeFile(join(folder.path, name), sql)
  return folder
}

test('pending files are applied in order and a second run applies none', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0002_colour.sql': second, '0001_car.sql': first })
  const before = await migrationStatus(database.pool, folder.path)

  const once = await migrate(database.pool, folder.path)
  const twice = await migrate(database.pool, folder.path)

  expect(before).toEqual({
    version: 0,
    pending: ['0001_car.sql', '0002_colour.sql'],
    applied: [],
  })
  expect(once.applied).toEqual(['0001_car.sql', '0002_colour.sql'])
  expect(twice.applied).toEqual([])
  expect(await migrationStatus(database.pool, folder.path)).toEqual({
    version: 2,
    pending: [],
    applied: [
      { version: 1, name: 'car', appliedAt: expect.any(Date) },
      { version: 2, name: 'colour', appliedAt: expect.any(Date) },
    ],
  })
})

test('eight runners at once apply each file exactly once', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0001_car.sql': first, '0002_colour.sql': second })
  const pools = await Promise.all(
    Array.from({ length: 8 }, () => openPool(database.url, { applicationName: 'runner', max: 1 })),
  )

  const runs = await Promise.all(pools.map((pool) => migrate(pool, folder.path)))

  await Promise.all(pools.map((pool) => pool.end()))
  const applied = runs.flatMap((run) => run.applied)
  expect(applied).toEqual(['0001_car.sql', '0002_colour.sql'])
})

test('an edited applied file is refused by name, by every function', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0001_car.sql': first })
  await migrate(database.pool, folder.path)

  await writeFile(join(folder.path, '0001_car.sql'), `${first}-- afterthought\n`)

  const refusal = /^0001_car\.sql was edited after it was applied/
  await expect(migrate(database.pool, folder.path)).rejects.toThrow(refusal)
  await expect(migrationStatus(database.pool, folder.path)).rejects.toThrow(refusal)
  await expect(assertSchemaCurrent(database.pool, folder.path)).rejects.toThrow(UsageError)
})

test('other line ends are not edits', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0001_car.sql': first })
  await migrate(database.pool, folder.path)

  await writeFile(join(folder.path, '0001_car.sql'), first.replaceAll('\n', '\r\n'))

  await assertSchemaCurrent(database.pool, folder.path)
})

test('a warehouse with a migration that this code does not know is refused', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0001_car.sql': first, '0002_colour.sql': second })
  await migrate(database.pool, folder.path)

  await rm(join(folder.path, '0002_colour.sql'))

  const refusal = /warehouse is newer: it has migration 2 \(colour\).*upgrade forecourt/
  await expect(migrate(database.pool, folder.path)).rejects.toThrow(refusal)
  await expect(assertSchemaCurrent(database.pool, folder.path)).rejects.toThrow(refusal)
})

test('for a warehouse without a migration the error says to migrate', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0001_car.sql': first })

  await expect(assertSchemaCurrent(database.pool, folder.path)).rejects.toThrow(
    /lacks 1 migration\(s\), the first is 0001_car\.sql: run forecourt migrate/,
  )
})

test('the error of broken SQL names file and line; its file is rolled back and earlier files stay', async () => {
  await using database = await emptyTestDatabase()
  const broken =
    "create table shop.won (won_id int); -- 'é😀'\n\ncreate table shop.lost (x nosuch);\n"
  await using folder = await folderWith({ '0001_car.sql': first, '0002_broken.sql': broken })

  await expect(migrate(database.pool, folder.path)).rejects.toThrow(
    /^Migration 0002_broken\.sql line 3 failed and was rolled back \(type "nosuch" does not exist\)/,
  )

  const { rows } = await database.pool.query(
    `select to_regclass('shop.car') is not null as car, to_regclass('shop.won') is not null as won`,
  )
  expect(rows).toEqual([{ car: true, won: false }])
  expect((await migrationStatus(database.pool, folder.path)).pending).toEqual(['0002_broken.sql'])
})

test('a failed run leaves the lock free for the next', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0001_broken.sql': 'create tabel x ();' })
  await expect(migrate(database.pool, folder.path)).rejects.toThrow(/line 1/)

  await rm(join(folder.path, '0001_broken.sql'))
  await writeFile(join(folder.path, '0001_car.sql'), first)

  expect((await migrate(database.pool, folder.path)).applied).toEqual(['0001_car.sql'])
})

test('a file numbered below one that is applied is refused', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await folderWith({ '0005_car.sql': first })
  await migrate(database.pool, folder.path)

  await writeFile(join(folder.path, '0004_late.sql'), 'select 1')

  await expect(migrate(database.pool, folder.path)).rejects.toThrow(
    /0004_late\.sql comes before migration 5/,
  )
})

test.for([
  [{ '1_short.sql': '' }, /1_short\.sql is not named like/],
  [{ '0001_a.sql': '', '0001_b.sql': '' }, /have number 1: renumber 0001_b\.sql/],
  [{ '0001_a.sql': 'select 1;\nCOMMIT;\n' }, /ends its transaction itself/],
] as const)('files that cannot be run safely are refused: %s', async ([files, refusal]) => {
  await using folder = await folderWith(files)

  await expect(readMigrations(folder.path)).rejects.toThrow(refusal)
})

test('a missing folder is a UsageError', async () => {
  await using folder = await temporaryFolder()

  await expect(readMigrations(join(folder.path, 'none'))).rejects.toThrow(UsageError)
})

test('the migrations of the package are found, from src/ and from dist/src/ alike', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'dist/src/warehouse/db'), { recursive: true })
  await writeFile(join(folder.path, 'package.json'), '{"type":"module"}')
  const here = join(import.meta.dirname, '../../../src')
  for (const name of ['warehouse/db/migration-files.ts', 'errors.ts'])
    await writeFile(join(folder.path, 'dist/src', name), await readText(join(here, name)))
  const copy = (await import(
    /* @vite-ignore */ join(folder.path, 'dist/src/warehouse/db/migration-files.ts')
  )) as typeof import('#src/warehouse/db/migration-files.ts')

  expect(copy.migrationsFolder()).toBe(join(folder.path, 'sql/migrations'))
  expect(await readdir(migrationsFolder())).toContain('0001_ledger.sql')
})

async function readText(path: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(path, 'utf8')
}
