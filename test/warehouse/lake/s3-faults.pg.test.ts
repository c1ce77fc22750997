import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { fill, mayMount, openDisk } from '../../faults/small-disk.ts'
import { runsEveryCase } from '../../support/cases.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openS3Store } from '../store/s3-store.ts'
import { openLakeFixture, shared } from './lake-fixture.ts'

vi.setConfig({ testTimeout: 300_000 })

/** Answers as Amazon does for a bucket of another region: the server of the other tests knows no regions. */
async function openOtherRegion(status: number, headers: Record<string, string>, body: string) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('a wrong region is refused with the right one', async () => {
  await using lake = await openLakeFixture()
  const key = { accessKeyId: 'key', secretAccessKey: 'secret' }
  const refused = async (status: number, headers: Record<string, string>, body: string) => {
    await using store = await openOtherRegion(status, headers, body)
    const s3 = { ...key, endpoint: store.endpoint, region: 'us-east-1' }
    await using other = await openLakeFixture({ to: 's3://analytics/x', s3 }, shared(lake.fixture))
    const { code, stderr } = await other.run()
    expect(code).toBe(2)
    return stderr
  }
  const advice =
    'correct lake.s3.region (us-east-1) or lake.s3.endpoint: the bucket is in ap-southeast-2, then run'

  expect(
    await refused(
      301,
      { 'x-amz-bucket-region': 'ap-southeast-2' },
      '<Error><Code>PermanentRedirect</Code><Message>Use the right endpoint.</Message></Error>',
    ),
  ).toContain(advice)
  expect(
    await refused(
      400,
      {},
      '<Error><Code>AuthorizationHeaderMalformed</Code><Region>ap-southeast-2</Region></Error>',
    ),
  ).toContain(advice)
})

test('after a kill the next export clears the temporary folder', { tags: 'ci' }, async () => {
  await using store = await openS3Store()
  await using temporary = await temporaryFolder()
  await using lake = await openLakeFixture({ to: `s3://${store.bucket}/forecourt`, s3: store.s3 })

  const env = { TMPDIR: temporary.path, FORECOURT_CRASH_AT: 'lake-file-made:3' }
  const { signal, stderr } = await lake.start(env, '--json').ended
  const left = await readdir(temporary.path)
  const next = await lake.start({ TMPDIR: temporary.path }, '--json').ended

  expect(signal, stderr).toBe('SIGKILL')
  expect(left).toEqual([expect.stringMatching(/^forecourt-lake-[\da-f]{16}$/)])
  expect([next.code, next.stderr]).toEqual([0, ''])
  expect(await readdir(temporary.path)).toEqual([])
})

const isAllowed = await mayMount()

test.runIf(isAllowed && runsEveryCase)(
  'a full temporary folder stops an export to S3',
  async () => {
    await using store = await openS3Store()
    await using disk = await openDisk(2)
    await using lake = await openLakeFixture({ to: `s3://${store.bucket}/forecourt`, s3: store.s3 })
    const free = await fill(disk.path, 0.03)

    const { code, stderr } = await lake.start({ TMPDIR: disk.path }).ended
    await free()
    const next = await lake.start({ TMPDIR: disk.path }).ended

    expect(code).toBe(1)
    expect(stderr).toMatch(
      /forecourt-lake-\w+ cannot be used: the disk is full \(ENOSPC\)\. There is no complete export yet: free some space/,
    )
    expect(next.code).toBe(0)
  },
)
