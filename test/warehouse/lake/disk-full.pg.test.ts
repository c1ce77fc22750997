import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { fill, mayMount, openDisk } from '../../faults/small-disk.ts'
import { differences } from './compare.ts'
import { lastExport } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { openLakeFixture } from './lake-fixture.ts'

const isAllowed = await mayMount()

test.skipIf(!isAllowed)(
  'a full disk stops the export, and the last state stays valid',
  async () => {
    await using disk = await openDisk(8)
    const to = join(disk.path, 'lake')
    await using lake = await openLakeFixture({ to })
    await using duck = await openDuckDb()
    const { pool } = lake.fixture.database
    await lake.export()
    const before = await lastExport(duck, to)
    const expected = await differences(pool, duck, to)
    await pool.query('update core.evaluation set final_price = final_price + 1')
    const free = await fill(disk.path, 0.02)

    const { code, stderr } = await lake.run()
    const after = await lastExport(duck, to)
    await free()
    await lake.export()

    expect(code).toBe(1)
    expect(stderr).toMatch(
      /cannot be used: the disk is full \(ENOSPC\)\. The export of .* stays valid: free some space, then run "forecourt lake export" again\.\n$/,
    )
    expect(after).toEqual(before)
    expect(expected).toEqual([])
    expect(await differences(pool, duck, to)).toEqual([])
  },
)

test.skipIf(!isAllowed)('a disk that is read-only is refused', { tags: 'ci' }, async () => {
  await using disk = await openDisk(1)
  await using lake = await openLakeFixture({ to: join(disk.path, 'lake') })
  await promisify(execFile)('mount', ['-o', 'remount,ro', disk.path])

  const { code, stderr } = await lake.run()

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /cannot be used: the file system is read-only \(EROFS\)\. .*: name another folder/,
  )
})
