import { expect, test } from 'vitest'
import { listPastCarHistory, watchPpsr } from '#src/api/contract/appraisal/checks.ts'
import type { CheckDraft } from '#src/sandbox/checks.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { signLink } from '#src/sandbox/signed-link.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { type AskAs, ask } from './ask.ts'

// What the AU checks do beyond the rows of test/conformance.

const now = new Date('2026-03-10T00:00:00Z')
const dayMs = 86_400_000
const vin = 'JTMDFREV90D123456'
const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs)

/** Evaluations 1, 2 and 3 of the same VIN: 2 at another rooftop of the group, 3 in another group. */
function start(options: SandboxOptions = {}) {
  const rooftops = [1, 2, 3].map((at) =>
    aRooftop({ uid: `rooftop-${at}`, groupId: at === 3 ? 'group-2' : 'group-1' }),
  )
  const keys = [aKey({ value: 'partner-au', rooftopUids: ['rooftop-1', 'rooftop-3'] })]
  const evaluations = rooftops.map(({ uid }, at) =>
    anEvaluation({ evalId: at + 1, vin, completedAt: null, rooftopUid: uid }),
  )
  const world = worldOf({ rooftops, keys, evaluations })
  return startSandbox({ world, clock: new VirtualClock({ start: now, frozen: true }), ...options })
}

/** A PPSR search on evaluation 1, made a day before `now`. */
function aCheck(draft: Partial<CheckDraft> = {}): CheckDraft {
  const base = { kind: 'ppsr', groupId: 'group-1', rooftopUid: 'rooftop-1', evalId: 1 } as const
  return { ...base, vin, searchedAt: daysAgo(1), ...draft }
}

async function watch(sandbox: Sandbox, evalid: number) {
  return (await ask(sandbox, '/ppsrwatch', { evalid })).json as {
    WatchStatus: string
    Checks: { ID: number; WatchStatus: string; CheckedAt: string }[]
  }
}

/** The items of a past-checks operation. */
async function past(sandbox: Sandbox, path: string, evalid: number, as?: AskAs) {
  return (await ask(sandbox, path, { evalid }, as)).json as Record<string, unknown>[]
}

test('names that the documents do not show are written by the settings', async () => {
  const wire = wireSettings.parse({
    appraisal: {
      ppsrCertificate: { id: 'result.no', securityInterests: 'result.interests' },
      watch: { checks: 'items', checkStatus: 'state' },
      pastCheck: { pdfUrl: 'link' },
    },
  })
  await using sandbox = await start({ wire })

  const { json } = await ask(sandbox, '/ppsrsearch', { evalid: 1 })
  const watched = await ask(sandbox, '/ppsrwatch', { evalid: 1 })
  const [item] = await past(sandbox, '/getpastppsrsearch', 1)

  expect(json).toMatchObject({ result: { no: 70_001, interests: expect.any(Number) } })
  expect(watched.json).toMatchObject({ items: [{ state: 'watching' }] })
  expect(item).toMatchObject({ link: expect.stringContaining('/pdf/ppsr/') })
})

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

test('about one VIN in six changes within the 14 days', async () => {
  await using sandbox = await start()

  const changing = Array.from({ length: 600 }, (_, at) =>
    sandbox.checks.add(aCheck({ vin: `VIN${String(at).padStart(14, '0')}` })),
  ).filter(({ watch: plan }) => plan?.changesAt)

  expect(changing.length).toBeGreaterThan(70)
  expect(changing.length).toBeLessThan(130)
})

test('past certificates are those of the dealer group for the VIN, newest first', async () => {
  await using sandbox = await start()
  sandbox.checks.add(aCheck({ kind: 'car_history', groupId: 'group-2' }))
  for (const [days, evalId, groupId] of [
    [20, 1, 'group-1'],
    [1, 2, 'group-1'],
    [2, 3, 'group-2'],
    [-1, 1, 'group-1'],
  ] as const)
    sandbox.checks.add(aCheck({ searchedAt: daysAgo(days), evalId, groupId }))

  const items = await past(sandbox, '/getpastppsrsearch', 1)
  const otherGroup = await past(sandbox, '/getpastppsrsearch', 3, { rooftop: 'rooftop-3' })

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
  expect(await past(sandbox, '/getpastcarhistory', 1)).toEqual([])
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

const pastPaths = { ppsr: '/getpastppsrsearch', car_history: '/getpastcarhistory' } as const

/** The PDF link of the first past check. */
async function linkOf(sandbox: Sandbox, kind: keyof typeof pastPaths = 'ppsr'): Promise<string> {
  return String((await past(sandbox, pastPaths[kind], 1))[0]!['PdfUrl'])
}

test.each(['ppsr', 'car_history'] as const)(
  'the link of a %s check always leads to the same PDF',
  async (kind) => {
    const pdfs: string[] = []
    for (let times = 0; times < 2; times++) {
      await using sandbox = await start()
      sandbox.checks.add(aCheck({ kind }))
      const response = await fetch(await linkOf(sandbox, kind))
      pdfs.push(Buffer.from(await response.arrayBuffer()).toString('latin1'))
    }

    expect(pdfs[0]).toMatch(/^%PDF-1\.\d[\s\S]*%%EOF\s*$/)
    expect(pdfs[1]).toBe(pdfs[0])
  },
)

test('a link that was changed anywhere is a 403, a valid one to an unknown check a 404', async () => {
  await using sandbox = await start()
  sandbox.checks.add(aCheck())
  const link = await linkOf(sandbox)

  const changed = [
    link.replace(/expires=(\d)/, 'expires=9$1'),
    link.replace('/ppsr/', '/car_history/'),
    link.replace(/signature=.*/, 'signature='),
    link.replace(/\?.*/, ''),
  ]
  for (const url of changed) expect((await fetch(url)).status).toBe(403)
  const { origin } = new URL(link)
  const unknown = await fetch(signLink(origin, '/pdf/ppsr/unknown.pdf', now.getTime() + 1000))
  expect([unknown.status, await unknown.json()]).toEqual([404, { error: expect.any(String) }])
})
