import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openS3Store, type S3Store, targetOf } from '../store/s3-store.ts'
import { differences } from './compare.ts'
import { readLake } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { openLakeFixture, pathsOf, shared } from './lake-fixture.ts'

/** Read by another client than ours. */
async function bytesOf({ s3, bucket }: S3Store, path: string): Promise<Buffer> {
  const { endpoint, ...key } = s3
  const client = new AwsClient({ ...key, service: 's3' })
  const answer = await client.fetch(`${endpoint}/${bucket}/forecourt/${path}`)
  expect([path, answer.status]).toEqual([path, 200])
  return Buffer.from(await answer.arrayBuffer())
}

/** Copies the lake of the store into a folder. */
async function download(store: S3Store, folder: string): Promise<void> {
  for (const path of (await targetOf(store).list()).keys()) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), await bytesOf(store, path))
  }
}

test('an export to S3 is read back as the marts have it, and the next one writes only changes', async () => {
  await using store = await openS3Store()
  await using lake = await openLakeFixture({ to: `s3://${store.bucket}/forecourt/`, s3: store.s3 })
  await using duck = await openDuckDb()
  await using folder = await temporaryFolder()
  const { pool } = lake.fixture.database

  const first = await lake.export()
  await pool.query('update core.evaluation set final_price = final_price + 1 where rooftop_id = 1')
  const second = await lake.export()

  await download(store, folder.path)
  expect(first.files.written).toBeGreaterThan(30)
  expect(second.files.unchanged).toBeGreaterThan(20)
  // The file of the table "export" is not a file of a mart.
  expect(second.files.removed).toBe(second.files.written + 1)
  expect(await differences(pool, duck, folder.path)).toEqual([])
  const stored = [...(await targetOf(store).list()).keys()].filter((path) => /\/part-/.test(path))
  expect(stored.sort()).toEqual(pathsOf(await readLake(duck, folder.path)))
})

test('a wrong bucket, key or secret is refused with what to correct', { tags: 'ci' }, async () => {
  await using store = await openS3Store()
  await using lake = await openLakeFixture({ to: `s3://${store.bucket}/x`, s3: store.s3 })
  const refused = async (to: string, s3: Partial<S3Store['s3']>) => {
    await using other = await openLakeFixture(
      { to, s3: { ...store.s3, ...s3 } },
      shared(lake.fixture),
    )
    const { code, stderr } = await other.run()
    expect(code).toBe(2)
    expect(stderr).not.toContain('wrong-secret')
    return stderr
  }

  expect(await refused('s3://nothing-here/x', {})).toMatch(
    /^s3:\/\/nothing-here\/ cannot be read: the store answered 404 NoSuchBucket .*create the bucket nothing-here, or correct lake\.to/,
  )
  expect(await refused('s3://analytics/x', { secretAccessKey: 'wrong-secret' })).toMatch(
    /403 SignatureDoesNotMatch .*correct lake\.s3\.accessKeyId and lake\.s3\.secretAccessKey/,
  )
  expect(await refused('s3://analytics/x', { accessKeyId: 'NOT-THERE' })).toMatch(
    /403 InvalidAccessKeyId .*correct lake\.s3\.accessKeyId/,
  )
})

test('a store that breaks off half-way leaves the last export, and the next export ends', {
  tags: 'ci',
}, async () => {
  await using store = await openS3Store()
  await using lake = await openLakeFixture({ to: `s3://${store.bucket}/forecourt`, s3: store.s3 })
  await using duck = await openDuckDb()
  await using folder = await temporaryFolder()
  const { pool } = lake.fixture.database
  await lake.export()
  await pool.query('update core.evaluation set final_price = final_price + 1')
  const exports = async () =>
    [...(await targetOf(store).list()).keys()].filter((path) => path.startsWith('export/_delta'))
  const before = await exports()

  // Slow, so that it is not over before the line breaks; what is stored is read past the line.
  const stored = async () => (await readdir(store.directory, { recursive: true })).length
  const size = await stored()
  await store.line.be({ slow: 20_000 })
  const started = lake.run()
  await expect.poll(stored).toBeGreaterThan(size)
  await store.line.be('refuse')
  const broken = await started
  await store.line.be('pass')
  const after = await exports()
  await lake.export()

  expect(broken.code).toBe(1)
  expect(broken.stderr).toMatch(
    /^s3:\/\/analytics\/.* failed 6 times at http:.*\. The export of .* stays valid: check that the store runs/,
  )
  expect(after).toEqual(before)
  await download(store, folder.path)
  expect(await differences(pool, duck, folder.path)).toEqual([])
})
