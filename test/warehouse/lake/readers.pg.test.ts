import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Manifest } from '#src/warehouse/lake/manifest.ts'
import { type LakeFixture, namedFiles, openLakeFixture } from './lake-fixture.ts'

const raisePrices = async ({ fixture }: LakeFixture) =>
  await fixture.database.pool.query('update core.evaluation set final_price = final_price + 1')

test('a reader of the last manifest finds its files for an hour, and the first export after that removes them', async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 1 })
  await lake.export()
  const first = await lake.manifest()
  await raisePrices(lake)

  await lake.export()
  const second = await lake.manifest()
  const afterSecond = await lake.files()
  await raisePrices(lake)
  await lake.export()
  const afterThird = await lake.files()
  await makeOlder(lake, 61)
  const { files } = await lake.export()

  const replaced = namedFiles(first).filter((file) => !namedFiles(second).includes(file))
  expect(replaced.length).toBeGreaterThan(5)
  expect(second.superseded.map(({ path }) => path).sort()).toEqual(replaced)
  const all = [...new Set([...namedFiles(first), ...namedFiles(second)])]
  expect(afterSecond).toEqual([...all, 'manifest.json'].sort())
  expect(all.filter((file) => !afterThird.includes(file))).toEqual([])
  expect(files.removed).toBeGreaterThan(replaced.length)
  const last = await lake.files()
  expect(replaced.filter((file) => last.includes(file))).toEqual([])
})

/** As if the files had been replaced earlier. */
async function makeOlder({ lake }: LakeFixture, minutes: number): Promise<void> {
  const path = join(lake, 'manifest.json')
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Manifest
  const superseded = manifest.superseded.map((file) => ({
    ...file,
    since: new Date(Date.parse(file.since) - minutes * 60_000).toISOString(),
  }))
  await writeFile(path, JSON.stringify({ ...manifest, superseded }))
}
