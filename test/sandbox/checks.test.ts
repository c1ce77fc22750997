import { expect, test } from 'vitest'
import { watchPpsr } from '#src/contract/appraisal/checks.ts'
import type { CheckDraft } from '#src/sandbox/checks.ts'
import { samples } from '#src/sandbox/samples.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { ask, type AskAs } from './ask.ts'
import {
  aCheck,
  dayMs,
  daysAgo,
  now,
  past,
  sampleId,
  search,
  start,
  watch,
} from './checked-world.ts'

test('a search on an evaluation in progress answers its certificate, and is watched from then on', async () => {
  await using sandbox = await start()

  const { status, json } = await search(sandbox, 1)
  const { WatchStatus, Checks } = await watch(sandbox, 1)

  expect(status).toBe(200)
  expect(json).toEqual({
    ID: expect.any(Number),
    CreatedAt: now.toISOString(),
    PdfUrl: expect.stringContaining('/pdf/ppsr/'),
    CertificateNumber: expect.stringMatching(/^\d{10}$/),
    SecurityInterests: expect.any(Number),
    WriteOffs: expect.any(Number),
    Stolen: expect.any(Number),
  })
  expect(WatchStatus).toBe('watching')
  expect(Checks).toEqual([
    { ID: (json as { ID: number }).ID, WatchStatus: 'watching', CheckedAt: now.toISOString() },
  ])
})

test('names that the documents do not show are written by the settings', async () => {
  const wire = wireSettings.parse({
    appraisal: {
      ppsrCertificate: { id: 'result.no', securityInterests: 'result.interests' },
      watch: { checks: 'items', checkStatus: 'state' },
      pastCheck: { pdfUrl: 'link' },
    },
  })
  await using sandbox = await start({ wire })

  const { json } = await search(sandbox, 1)
  const watched = await ask(sandbox, '/ppsrwatch', { evalid: 1 })
  const [item] = await past(sandbox, '/getpastppsrsearch', 1)

  expect(json).toMatchObject({ result: { no: 70_001, interests: expect.any(Number) } })
  expect(watched.json).toMatchObject({ items: [{ state: 'watching' }] })
  expect(item).toMatchObject({ link: expect.stringContaining('/pdf/ppsr/') })
})

const paths = ['/ppsrsearch', '/carhistory', '/getpastppsrsearch', '/getpastcarhistory']

test.each([...paths, '/ppsrwatch'])(
  '%s has a different answer for each thing that it cannot check',
  async (path) => {
    await using sandbox = await start()
    const statusFor = async (evalid: unknown, as?: AskAs) =>
      (await ask(sandbox, path, { evalid }, as)).status

    expect(await statusFor(undefined)).toBe(400)
    expect(await statusFor('1')).toBe(400)
    expect(await statusFor(4)).toBe(400)
    expect(await statusFor(5)).toBe(400)
    expect(await statusFor(99)).toBe(404)
    expect(await statusFor(3)).toBe(404)
    expect(await statusFor(6)).toBe(404)
    expect(await statusFor(1, { key: 'wrong' })).toBe(403)
    expect(await statusFor(1, { key: 'partner-us', rooftop: 'us' })).toBe(403)
  },
)

test.each<[string, Partial<CheckDraft>, [number, string][]]>([
  [
    'no change',
    { watch: { isWatched: true, changesAt: null } },
    [
      [0, 'watching'],
      [dayMs - 1, 'watching'],
      [dayMs, 'unchanged'],
      [14 * dayMs - 1, 'unchanged'],
      [14 * dayMs, 'expired'],
      [400 * dayMs, 'expired'],
    ],
  ],
  [
    'a change on the fifth day',
    { watch: { isWatched: true, changesAt: new Date(now.getTime() + 5 * dayMs) } },
    [
      [5 * dayMs - 1, 'unchanged'],
      [5 * dayMs, 'changed'],
      [14 * dayMs, 'changed'],
      [400 * dayMs, 'changed'],
    ],
  ],
  [
    'a change after the 14 days',
    { watch: { isWatched: true, changesAt: new Date(now.getTime() + 14 * dayMs) } },
    [[14 * dayMs, 'expired']],
  ],
  [
    'the watch off',
    { watch: { isWatched: false, changesAt: null } },
    [
      [0, 'disabled'],
      [400 * dayMs, 'disabled'],
    ],
  ],
])('with %s a search goes through its statuses by the clock', async (_name, draft, expected) => {
  await using sandbox = await start()
  sandbox.checks.add(aCheck({ searchedAt: now, ...draft }))
  const seen: [number, string][] = []

  for (const [ms] of expected) {
    sandbox.clock.set(new Date(now.getTime() + ms))
    seen.push([ms, (await watch(sandbox, 1)).WatchStatus])
  }

  expect(seen).toEqual(expected)
})

test('the watch gives the most noteworthy status first, and every search, newest first', async () => {
  await using sandbox = await start()
  const steady = { isWatched: true, changesAt: null }
  sandbox.checks.add(aCheck({ searchedAt: daysAgo(20), watch: steady }))
  sandbox.checks.add(aCheck({ searchedAt: daysAgo(2), watch: steady, evalId: 2 }))
  sandbox.checks.add(aCheck({ searchedAt: daysAgo(0), watch: steady }))
  sandbox.checks.add(aCheck({ searchedAt: daysAgo(3), watch: steady, groupId: 'group-2' }))

  const body = await watch(sandbox, 1)

  expect(watchPpsr.read(body, defaultWire).WatchStatus).toBe('expired')
  expect(body.Checks.map((check) => [check.WatchStatus, check.CheckedAt])).toEqual([
    ['watching', now.toISOString()],
    ['unchanged', now.toISOString()],
    ['expired', daysAgo(6).toISOString()],
  ])
})

test('without a search there is no watch and no past check', async () => {
  await using sandbox = await start()
  sandbox.checks.add(aCheck({ kind: 'car_history', groupId: 'group-2' }))

  expect(await watch(sandbox, 1)).toEqual({ WatchStatus: 'not_watched', Checks: [] })
  expect(await past(sandbox, '/getpastppsrsearch', 1)).toEqual([])
  expect(await past(sandbox, '/getpastcarhistory', 1)).toEqual([])
})

test('sample VINs behave as described, and a failed search does not count', async () => {
  await using sandbox = await start({ limits: { ppsrPerDay: 2 } })
  const [changes, off] = [samples.auWatchChanges, samples.auWatchDisabled].map(sampleId)

  expect((await search(sandbox, sampleId(samples.auSearchFails))).status).toBe(400)
  expect((await watch(sandbox, sampleId(samples.auSearchFails))).Checks).toEqual([])
  expect((await search(sandbox, changes)).status).toBe(200)
  expect((await search(sandbox, off)).status).toBe(200)
  sandbox.clock.advance(3 * dayMs - 1)
  expect((await watch(sandbox, changes!)).WatchStatus).toBe('unchanged')
  sandbox.clock.advance(1)
  expect((await watch(sandbox, changes!)).WatchStatus).toBe('changed')
  expect((await watch(sandbox, off!)).WatchStatus).toBe('disabled')
})

test('about one VIN in six changes within the 14 days', async () => {
  await using sandbox = await start()

  const changing = Array.from({ length: 600 }, (_, at) =>
    sandbox.checks.add(aCheck({ vin: `VIN${String(at).padStart(14, '0')}` })),
  ).filter(({ watch: plan }) => plan?.changesAt)

  expect(changing.length).toBeGreaterThan(70)
  expect(changing.length).toBeLessThan(130)
})

test('a search beyond the daily limit of a vehicle is a 400, and the limit starts again the next day', async () => {
  await using sandbox = await start({ limits: { ppsrPerVehicle: 2 } })

  const statuses = [1, 2, 1].map(async (evalid) => (await search(sandbox, evalid)).status)
  expect((await Promise.all(statuses)).sort()).toEqual([200, 200, 400])
  expect((await search(sandbox, 1)).text).toContain('limit of this vehicle')
  expect((await search(sandbox, 3, { rooftop: 'rooftop-3' })).status).toBe(200)
  sandbox.clock.advance(dayMs)
  expect((await search(sandbox, 1)).status).toBe(200)
})

test('a search beyond the daily throttle of a rooftop is a 429, and other rooftops are not affected', async () => {
  await using sandbox = await start({ limits: { ppsrPerDay: 1, carHistoryPerDay: 1 } })
  const report = () => ask(sandbox, '/carhistory', { evalid: 1 })

  expect((await search(sandbox, 1)).status).toBe(200)
  expect(await search(sandbox, 1)).toMatchObject({
    status: 429,
    json: { error: expect.stringContaining('Daily throttle') },
  })
  expect((await search(sandbox, 1, { rooftop: 'rooftop-2' })).status).toBe(200)
  expect((await report()).status).toBe(200)
  expect(await report()).toMatchObject({
    status: 429,
    json: { error: expect.stringContaining('Daily throttle') },
  })
})
