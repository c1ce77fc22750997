import { expect, test } from 'vitest'
import { listPastCarHistory, listPastPpsr } from '#src/contract/appraisal/checks.ts'
import { aKey, worldOf } from '../support/build-world.ts'
import { samples } from '#src/sandbox/samples.ts'
import { defaultWire } from '#src/values/wire.ts'
import { ask } from './ask.ts'
import {
  aCheck,
  daysAgo,
  evaluations,
  now,
  past,
  rooftops,
  sampleId,
  start,
} from './checked-world.ts'

test('Car History answers its report alone, and runs once at a time for an evaluation', async () => {
  await using sandbox = await start({ limits: { carHistoryMs: 500 } })
  const report = (evalid: number) => ask(sandbox, '/carhistory', { evalid })

  const answers = await Promise.all([report(1), report(1), report(2)])

  const [ran, refused] = answers.slice(0, 2).sort((a, b) => a.status - b.status)
  expect(ran).toMatchObject({ status: 200 })
  expect(ran!.json).toEqual({
    ID: expect.any(Number),
    CreatedAt: now.toISOString(),
    PdfUrl: expect.stringContaining('/pdf/car_history/'),
  })
  expect(refused).toMatchObject({
    status: 429,
    json: { error: 'Request in progress, please wait' },
  })
  expect(answers[2]).toMatchObject({ status: 200 })
  expect((await report(1)).status).toBe(200)
})

test('Car History is a 403 where the dealership has not enabled it', async () => {
  await using sandbox = await start()

  const refused = await ask(sandbox, '/carhistory', { evalid: 3 }, { rooftop: 'rooftop-3' })
  expect(refused).toMatchObject({
    status: 403,
    json: { error: expect.stringContaining('enabled') },
  })
})

test('a failed Car History report is a 500, stores nothing and may be requested again', async () => {
  await using sandbox = await start()
  const evalid = sampleId(samples.auHistoryFails)
  const failed = { status: 500, json: { error: 'Failed to get vehicle history' } }

  expect(await ask(sandbox, '/carhistory', { evalid })).toMatchObject(failed)
  expect(await ask(sandbox, '/carhistory', { evalid })).toMatchObject(failed)
  expect(await past(sandbox, '/getpastcarhistory', evalid)).toEqual([])
})

test('past certificates are those of the dealer group for the VIN, newest first', async () => {
  const keys = [aKey({ value: 'partner-au', rooftopUids: ['rooftop-1', 'rooftop-3'] })]
  await using sandbox = await start({ world: worldOf({ rooftops, evaluations, keys }) })
  for (const [days, evalId, groupId] of [
    [20, 1, 'group-1'],
    [1, 2, 'group-1'],
    [2, 3, 'group-2'],
    [-1, 1, 'group-1'],
  ] as const)
    sandbox.checks.add(aCheck({ searchedAt: daysAgo(days), evalId, groupId }))

  const items = await past(sandbox, '/getpastppsrsearch', 1)
  const otherGroup = await past(sandbox, '/getpastppsrsearch', 3, { rooftop: 'rooftop-3' })

  expect(listPastPpsr.read(items, defaultWire)).toHaveLength(2)
  expect(items.map((item) => item['CreatedAt'])).toEqual([
    daysAgo(1).toISOString(),
    daysAgo(20).toISOString(),
  ])
  expect(items[1]).toEqual({
    WatchStatus: 'expired',
    ID: expect.any(Number),
    CreatedAt: daysAgo(20).toISOString(),
    PdfUrl: expect.any(String),
  })
  expect(otherGroup).toHaveLength(1)
})

test('a past report names the certificate that existed when it was made, and has its watch status', async () => {
  await using sandbox = await start()
  const watched = { isWatched: true, changesAt: null }
  sandbox.checks.add(aCheck({ kind: 'car_history', searchedAt: daysAgo(30) }))
  const old = sandbox.checks.add(aCheck({ searchedAt: daysAgo(20), watch: watched }))
  sandbox.checks.add(aCheck({ kind: 'car_history', searchedAt: daysAgo(10) }))
  sandbox.checks.add(aCheck({ searchedAt: daysAgo(1), watch: watched }))

  const items = await past(sandbox, '/getpastcarhistory', 1)

  const [newer, older] = listPastCarHistory.read(items, defaultWire)
  expect(newer).toMatchObject({
    WatchStatus: 'expired',
    CertificateNumber: old.certificateNumber,
    SearchNumber: expect.stringMatching(/^CH-/),
  })
  expect(older).toMatchObject({ WatchStatus: 'not_watched', CertificateNumber: null })
})
