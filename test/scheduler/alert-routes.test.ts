import { expect, test } from 'vitest'
import { alertTargets } from '#src/config/alerts.ts'
import { makeConfig } from '#src/config/read.ts'
import type { ConfigInput } from '#src/config/schema.ts'
import {
  digestDay,
  inboxesInScope,
  isQuiet,
  pageOf,
  programScope,
  scopesOf,
  severityOf,
} from '#src/scheduler/alert-routes.ts'

const url = 'https://hooks.example.com/x'
const targetOf = (alerts: NonNullable<ConfigInput['alerts']>) =>
  alertTargets(makeConfig({ alerts: { url, ...alerts } }, '/srv').alerts)[0]!

// Sydney is 11 hours ahead of UTC in January and 10 in July.
test.for([
  ['22:00-06:00', '2026-01-10T11:00:00Z', true],
  ['22:00-06:00', '2026-01-10T10:59:00Z', false],
  ['22:00-06:00', '2026-07-10T11:00:00Z', false],
  ['22:00-06:00', '2026-01-10T18:59:00Z', true],
  ['22:00-06:00', '2026-01-10T19:00:00Z', false],
  ['12:00-13:30', '2026-01-10T02:00:00Z', true],
  ['12:00-13:30', '2026-01-10T02:30:00Z', false],
  ['00:00-07:00', '2026-01-10T13:00:00Z', true],
] as const)('quiet hours %s of Sydney at %s: %s', ([quietHours, at, quiet]) => {
  const target = targetOf({ quietHours, timezone: 'Australia/Sydney' })

  expect(isQuiet(target, new Date(at))).toBe(quiet)
})

test.for([
  ['07:00', '2026-01-09T20:00:00Z', '2026-01-10'],
  ['07:00', '2026-01-09T19:59:00Z', null],
  ['07:00', '2026-01-10T01:59:00Z', '2026-01-10'],
  // No scheduler ran in the morning: in the afternoon it is no news.
  ['07:00', '2026-01-10T02:00:00Z', null],
] as const)('a digest at %s of Sydney at %s is of %s', ([digest, at, day]) => {
  const target = targetOf({ digest, timezone: 'Australia/Sydney' })

  expect(digestDay(target, new Date(at))).toBe(day)
})

const key = { value: 'key-of-the-dealer', kind: 'partner', region: 'AU' } as const
const rooftop = { key: 'a', timezone: 'Australia/Sydney', currency: 'AUD' } as const
const rooftops = [
  { ...rooftop, uid: 'u1', name: 'North', group: 'north' },
  { ...rooftop, uid: 'u2', name: 'South', group: 'south' },
]

test('a receiver with dealer groups has a scope of its own, and gets what concerns no rooftop only if no other does', () => {
  const north = { name: 'north', url, groups: ['north'] }
  const south = { name: 'south', url, groups: ['south'] }
  const mixed = makeConfig(
    { keys: { a: key }, rooftops, alerts: { url, targets: [north] } },
    '/srv',
  )
  const split = makeConfig(
    { keys: { a: key }, rooftops, alerts: { targets: [north, south] } },
    '/srv',
  )
  const namesOf = ({ targets }: { targets: readonly { name: string }[] }) =>
    targets.map(({ name }) => name)

  const scopes = scopesOf(mixed).map(({ prefix, rooftops: own }) => [prefix, own.length])
  expect(scopes).toEqual([
    ['', 2],
    ['north:', 1],
  ])
  expect(namesOf(programScope(mixed))).toEqual(['default'])
  expect(namesOf(programScope(split))).toEqual(['north', 'south'])
})

test.for([
  {
    receivers: ['north', 'south'],
    seen: { north: ['own', 'shared', 'coded', 'any'], south: ['shared', 'coded', 'any'] },
  },
  {
    receivers: ['north', 'all'],
    seen: { all: ['own', 'shared', 'coded', 'any'], north: ['own'] },
  },
] as const)(
  'a drop folder that groups share goes to receivers of all groups, if there are any: $receivers',
  ({ receivers, seen }) => {
    const targets = receivers.map((name) => ({ name, url, groups: name === 'all' ? [] : [name] }))
    const inbox = [
      { folder: 'own', rooftop: 'u1' },
      { folder: 'shared', rooftopColumn: 'Site', rooftopCodes: { N: 'u1', S: 'u2' } },
      // A cell may hold the name of a rooftop that has no code.
      { folder: 'coded', rooftopColumn: 'Site', rooftopCodes: { N: 'u1' } },
      { folder: 'any', rooftopColumn: 'Site' },
    ]
    const input = { keys: { a: key }, rooftops, alerts: { targets }, stock: { inbox } }
    const config = makeConfig(input, '/srv')

    const found = scopesOf(config).map((scope) => [
      scope.targets[0]!.name,
      inboxesInScope(config, scope).stock.inbox.map(({ folder }) => folder),
    ])
    expect(Object.fromEntries(found)).toEqual(seen)
  },
)

test('what the morning page shows in red is critical, and every problem has a page', () => {
  const keys = ['job/late', 'job/worker', 'objective/key/a', 'north:objective/failed/0123']
  const warnings = ['objective/gaps', 'north:objective/quarantine', 'inbox/file/3']

  expect(keys.map(severityOf)).toEqual(keys.map(() => 'critical'))
  expect(warnings.map(severityOf)).toEqual(warnings.map(() => 'warning'))
  expect([...keys, ...warnings].map(pageOf)).toEqual([
    ...['/jobs', '/work', '/', '/'],
    ...['/coverage', '/quarantine', '/stock/imports'],
  ])
})
