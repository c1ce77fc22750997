import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockSql } from '#src/warehouse/db/locks.ts'
import { openLakeFixture, shared } from './lake-fixture.ts'

test('of two exports to the same lake the second ends with 3 and disturbs nothing', async () => {
  await using lake = await openLakeFixture()
  await lake.export()
  const before = await lake.files()
  const client = await lake.fixture.database.pool.connect()
  await client.query('begin')
  await client.query(`select ${lockSql.try('lake', 'hashtext($1)')}`, [lake.lake])

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

test('two exports at once: one does the work, the other ends with 3', async () => {
  await using lake = await openLakeFixture()

  const [one, two] = await Promise.all([lake.start({}).ended, lake.start({}).ended])

  expect([one.code, two.code].sort()).toEqual([0, 3])
  expect((await lake.manifest()).rows).toBeGreaterThan(0)
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
    /\/file\/.* cannot be used: .*\(E\w+\)\. There is no complete state yet: .+, then run/,
  )
  expect(await refused('ftp://host/x')).toBe(
    'ftp://host/x is no folder and no s3:// address: write s3://bucket/prefix.',
  )
  expect(await refused('s3://UPPER/x')).toMatch(/names no bucket/)
  expect(await refused('s3://bucket/x')).toMatch(/lake\.s3\.accessKeyId/)
  await using unset = await openLakeFixture({}, shared(lake.fixture))
  expect((await unset.run()).stderr).toMatch(/^Name where to: --to/)
})

test('a folder whose manifest is of another program is refused', async () => {
  await using lake = await openLakeFixture()
  await mkdir(lake.lake)
  await writeFile(join(lake.lake, 'manifest.json'), '{"other": true}')

  const { code, stderr } = await lake.run()

  expect(code).toBe(2)
  expect(stderr).toMatch(/manifest\.json is not a manifest of this version/)
  expect(await readFile(join(lake.lake, 'manifest.json'), 'utf8')).toBe('{"other": true}')
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
