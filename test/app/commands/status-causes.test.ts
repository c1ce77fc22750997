import { expect, test } from 'vitest'
import { findCauses, linkText, type Status } from '#src/app/commands/status-causes.ts'
import { makeConfig } from '#src/app/config/read.ts'

const naming = { config: makeConfig({}, '/nowhere'), label: (uid: string) => uid }

/** What `status` knows where only these jobs are late. */
function lateJobs(names: readonly string[]): Status {
  const job = { status: 'late', kept: true, error: 'no good run' }
  return {
    ...{ health: { rooftops: {} }, keys: [], names: [], alerts: {}, inboxes: {} },
    jobs: Object.fromEntries(names.map((name) => [name, job])),
    links: { status: 'ok' },
  } as unknown as Status
}

test('the cure of late jobs names the command of each', () => {
  const cures = [['nightly'], ['nightly', 'verify']].map(
    (names) => findCauses(lateJobs(names), naming)[0]!.cure,
  )

  expect(cures).toEqual([
    'Correct the cause; "forecourt run nightly" runs it now.',
    'Correct the cause; "forecourt run nightly" and "forecourt run verify" run them now.',
  ])
})

const parked = (stream: string, hour: string) => ({
  ...{ stream, until: `2026-12-01T${hour}:00:00Z`, reason: `429 of ${stream}` },
})

/** What `status` knows where the quota of the key of North is used up for three streams, and these miss an objective. */
function usedUp(streams: Readonly<Record<string, readonly string[]>>): Status {
  const health = Object.entries(streams).map(([stream, wrong]) => {
    const reasons = wrong.map((cause) => ({ cause, text: `${cause} of ${stream}` }))
    return [stream, { quarantined: 12, lastGoodRunAt: null, reasons }]
  })
  const all = [parked('evaluations', '03'), parked('pricing', '01'), parked('vehicle-checks', '02')]
  return {
    ...{ names: [], alerts: {}, inboxes: {}, jobs: {}, links: { status: 'ok' } },
    keys: [{ key: 'appraisal/au', state: 'quotaUsed', refusal: null, parked: all }],
    health: { rooftops: { north: { name: 'North', streams: Object.fromEntries(health) } } },
  } as unknown as Status
}

const ofNorth = makeConfig(
  {
    keys: { au: { value: 'a-key', kind: 'partner', region: 'AU' } },
    rooftops: [
      { uid: 'north', name: 'North', key: 'au', timezone: 'Australia/Sydney', currency: 'AUD' },
    ],
  },
  '/nowhere',
)

test.for([
  [{ pricing: ['failed', 'late', 'gaps'] }, []],
  [{ pricing: ['quarantine'] }, ['pricing of north: 12 records in quarantine']],
  [
    { pricing: ['failed', 'verification', 'quarantine'] },
    [
      'pricing of north: the last verification found a fault',
      'pricing of north: 12 records in quarantine',
    ],
  ],
  [
    { users: ['quarantine', 'gaps', 'unprovable'] },
    ['users of north: 12 records in quarantine', 'users of north: not listed'],
  ],
  [{ pricing: ['unprovable'] }, ['pricing of north: cannot be proved complete']],
] as const)('a quota that is used up hides only what it causes: %j', ([streams, others]) => {
  const causes = findCauses(usedUp(streams), { ...naming, config: ofNorth })

  const ofKey = causes.filter(({ what }) => what.includes('quota'))
  expect(causes.filter((cause) => !ofKey.includes(cause)).map(({ what }) => what)).toEqual(others)
  expect(ofKey).toHaveLength(Object.values(streams).flat().includes('failed') ? 1 : 0)
})

test('a quota that is used up ends when that of the last stream does which it stops', () => {
  const status = usedUp({ 'vehicle-checks': ['late'], pricing: ['failed'] })

  const [cause] = findCauses(status, { ...naming, config: ofNorth })

  expect(cause).toMatchObject({
    what: expect.stringContaining('used up until 2026-12-01 02:00:00 UTC'),
    why: ['Stops vehicle-checks, pricing of north', '429 of pricing', '429 of vehicle-checks'],
  })
})

test.for([
  [null, 'Links to PDFs: none yet'],
  [0, 'Links to PDFs: none to refresh (links.keepAliveDays is 0)'],
] as const)('without links in scope, keepAliveDays %s: %s', ([keepAliveDays, text]) => {
  const links = { inScope: 0 } as Status['links']

  expect(linkText(links, makeConfig({ links: { keepAliveDays } }, '/nowhere'))).toBe(text)
})
