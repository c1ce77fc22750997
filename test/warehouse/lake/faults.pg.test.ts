import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { lockSql } from '#src/warehouse/db/locks.ts'
import { dbOn } from '#src/warehouse/db/transaction.ts'
import { lastExport } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { openLakeFixture, shared } from './lake-fixture.ts'

test('of two exports to the same lake the second ends with 3 and disturbs nothing', async () => {
  await using lake = await openLakeFixture()
  await lake.export()
  const before = await lake.files()
  const client = await lake.fixture.database.pool.connect()
  await client.query('begin')
  await sql`select ${lockSql.try('lake', sql`hashtext(${lake.lake})`)}`.execute(dbOn(client))

  const second = await lake.run()
  const other = await lake.run('--to', join(lake.folder, 'other'))
  await client.query('rollback')
  client.release()

  expect([second.code, second.stderr]).toEqual([
    3,
    `Another export to ${lake.lake} is running: wait until it has ended, or stop it. Nothing was started.\n`,
  ])
  expect(other.code).toBe(0)
  expect(await lake.files()).toEqual(before)
})

test('two exports at once: one does the work, the other ends with 3', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()

  const [one, two] = await Promise.all([lake.start({}).ended, lake.start({}).ended])

  expect([one.code, two.code].sort()).toEqual([0, 3])
  expect((await lastExport(duck, lake.lake))[0]!.export_number).toBe('1')
})

test('a target that cannot be used is refused with what and where, and exit 2', async () => {
  await using lake = await openLakeFixture()
  await writeFile(join(lake.folder, 'file'), 'mine')
  const refused = async (to: string) => {
    const { code, stdout, stderr } = await lake.run('--to', to)
    expect([code, stdout]).toEqual([2, ''])
    return stderr.trimEnd()
  }

  expect(await refused('file')).toMatch(
    /\/file cannot be used: .*\(E\w+\): name another folder, then run/,
  )
  expect(await refused('ftp://host/x')).toBe(
    'ftp://host/x is not a folder and no s3:// address: write s3://bucket/prefix.',
  )
  expect(await refused('s3://UPPER/x')).toMatch(/names no bucket/)
  expect(await refused('s3://bucket/x')).toMatch(/lake\.s3\.accessKeyId/)
  await using unset = await openLakeFixture({}, shared(lake.fixture))
  expect((await unset.run()).stderr).toMatch(/^Name where to: --to/)
})

// Root may write everywhere.
test.skipIf(process.getuid?.() === 0)(
  'a folder without the right to write is refused',
  async () => {
    await using lake = await openLakeFixture()
    await mkdir(lake.lake)
    await chmod(lake.lake, 0o500)

    const { code, stderr } = await lake.run()
    await chmod(lake.lake, 0o700)

    expect(code).toBe(2)
    expect(stderr).toMatch(/this user may not write there \(EACCES\)/)
  },
)
