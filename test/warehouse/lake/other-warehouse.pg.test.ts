import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../../support/child.ts'
import { openLakeFixture } from './lake-fixture.ts'

test('a warehouse never writes to the lake of another one, unless its manifest is removed', async () => {
  await using lake = await openLakeFixture()
  await using other = await openLakeFixture({ to: lake.lake })
  await lake.export()
  const before = await lake.files()
  const manifest = await lake.manifest()

  const { code, stderr } = await other.run()
  const after = [await lake.files(), await lake.manifest()]
  await rm(join(lake.lake, 'manifest.json'))
  const takenOver = await other.export()

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^\S+ is the lake of another warehouse \(\d+\/\w+; this one is \d+\/\w+\)\. The state of \S+ stays valid: name another folder or prefix, or remove manifest\.json if/,
  )
  expect(after).toEqual([before, manifest])
  expect(takenOver.files.unchanged).toBe(0)
  expect((await lake.manifest()).warehouse).not.toBe(manifest.warehouse)
})

test('a warehouse waits for the first export of another one, which was killed', async () => {
  await using lake = await openLakeFixture()
  await using other = await openLakeFixture({ to: lake.lake })
  await lake.start({ FORECOURT_CRASH_AT: 'lake-file-stored:3' }).ended
  const before = await lake.files()

  const { code, stderr } = await other.run()
  const after = await lake.files()
  await lake.export()

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^Another warehouse \(\d+\/\w+; this one is \d+\/\w+\) has started an export to \S+\. There is no complete state yet: name another folder or prefix, or remove _progress\.json/,
  )
  expect(after).toEqual(before)
})

test('an export whose lake another warehouse takes over at the same moment publishes nothing', async () => {
  await using lake = await openLakeFixture()
  const progress = join(lake.lake, '_progress.json')
  const child = lake.start({})
  await until(async () =>
    (await lake.files().catch(() => [])).some((file) => file.startsWith('data_dictionary/')),
  )
  child.kill('SIGSTOP')
  await writeFile(progress, JSON.stringify({ warehouse: 'other', tables: {} }))
  child.kill('SIGCONT')

  const { code, stderr } = await child.ended

  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^Another warehouse \(other; this one is \d+\/\w+\) has started an export to/m,
  )
  expect(await lake.files()).not.toContain('manifest.json')
  expect(await readFile(progress, 'utf8')).toContain('other')
})
