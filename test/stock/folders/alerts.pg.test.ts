import { expect, test } from 'vitest'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { openReceiver } from '../../app/scheduler/alert-receivers.ts'
import { listOf, vehicles } from '../import-fixture.ts'
import { type InboxFixture, openInboxFixture, silent } from './inbox-fixture.ts'

function alertsOf({ pool, config }: InboxFixture): Alerts {
  return new Alerts({ pool, config, db: openDb(pool), log: silent }, [], 0)
}

const console = {
  publicUrl: 'https://forecourt.example.com',
  people: [{ email: 'kim@example.com', role: 'engineer' as const }],
}

test('a file that needs a person is one alert, with the command and the page, and one more when it is over', async () => {
  await using receiver = await openReceiver()
  const settings = { alerts: { url: receiver.url, afterMinutes: 0 }, console }
  await using fixture = await openInboxFixture({ rooftop: 'north' }, settings)
  const alerts = alertsOf(fixture)
  await fixture.drop('a.csv', listOf(vehicles(20)))
  await fixture.pass()
  await fixture.drop('b.csv', listOf(vehicles(2)))
  const { files } = await fixture.pass()

  await alerts.reportInboxes()
  await fixture.pass()
  await alerts.reportInboxes()
  const once = [...receiver.got]
  await fixture.drop('c.csv', listOf(vehicles(21)))
  await fixture.pass()
  await alerts.reportInboxes()
  await alerts.reportInboxes()

  expect(once).toHaveLength(1)
  const { what, state } = once[0]!
  expect(state).toBe('raised')
  expect(what).toContain('b.csv in')
  expect(what).toContain('was not imported and needs a person.')
  expect(what).toContain(`run: ${files[0]!.commands[0]}`)
  expect(what).toContain('https://forecourt.example.com/console/stock/upload')
  expect(receiver.got.map((message) => message.state)).toEqual(['raised', 'resolved'])
})

test('many failed files are one alert, and one that fails after it was sent is another', async () => {
  await using receiver = await openReceiver()
  const settings = { alerts: { url: receiver.url, afterMinutes: 0 } }
  await using fixture = await openInboxFixture({ rooftop: 'north', mode: 'delta' }, settings)
  const alerts = alertsOf(fixture)
  for (const name of ['a', 'b', 'c', 'd']) await fixture.drop(`${name}.csv`, 'PK\x03\x04 no list')
  await fixture.pass()

  await alerts.reportInboxes()
  const first = [...receiver.got]
  await fixture.drop('e.csv', 'PK\x03\x04 no list either')
  await fixture.pass()
  await alerts.reportInboxes()
  await alerts.reportInboxes()

  expect(first).toHaveLength(1)
  expect(first[0]!.what).toContain('The stock lists d.csv, c.csv, b.csv, a.csv in ')
  expect(receiver.got).toHaveLength(2)
  expect(receiver.got[1]!.what).toContain('e.csv in')
})

test('an alert about many files names as many as it has room for, and its command is whole', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  const settings = { alerts: { url: receiver.url, afterMinutes: 0 }, console }
  await using fixture = await openInboxFixture({ rooftop: 'north', mode: 'delta' }, settings)
  const name = (at: number) => `${'long name '.repeat(10)}${at}.csv`
  for (const at of [1, 2, 3, 4, 5, 6, 7]) await fixture.drop(name(at), 'PK\x03\x04 no list')
  await fixture.pass()

  await alertsOf(fixture).reportInboxes()

  const { what } = receiver.got[0]!
  expect(what).toContain(`The stock lists ${name(7)}, ${name(6)} and 5 more in `)
  expect(what).toContain('Or upload it at https://forecourt.example.com/console/stock/upload')
  expect(what).not.toMatch(/\d{8}-\d{6}-\d+-long name .*: /)
})

test('a list that is expected daily is late once, however often it is checked, until one comes', async () => {
  await using receiver = await openReceiver()
  const settings = { alerts: { url: receiver.url, afterMinutes: 0 } }
  // A minute ago, so that the time is past on this day or has just started a new one.
  const minuteAgo = new Date(Date.now() - 60_000).toISOString().slice(11, 16)
  const inbox = { rooftop: 'north', expectDaily: minuteAgo, timezone: 'UTC' }
  await using fixture = await openInboxFixture(inbox, settings)
  const alerts = alertsOf(fixture)
  const { pool } = fixture
  await fixture.pass()
  await alerts.reportInboxes()
  const isNew = [...receiver.got]
  await pool.query("update ops.stock_inbox set known_since = now() - interval '3 days'")

  await alerts.reportInboxes()
  await alerts.reportInboxes()
  const status = await fixture.status()
  await fixture.drop('a.csv', listOf(vehicles(2)))
  await fixture.pass()
  await alerts.reportInboxes()
  const came = await fixture.status()
  await pool.query("update ops.stock_inbox set arrived_at = now() - interval '11 hours'")
  const early = await fixture.status()
  await pool.query("update ops.stock_inbox set arrived_at = now() - interval '13 hours'")
  const tooEarly = await fixture.status()

  expect(isNew).toEqual([])
  expect(receiver.got.map(({ state }) => state)).toEqual(['raised', 'resolved'])
  expect(receiver.got[0]!.what).toContain(
    `was expected by ${minuteAgo} (UTC) and has not come; none has come yet.`,
  )
  expect([status, came, early, tooEarly].map((one) => one.status)).toEqual([
    'late',
    'ok',
    'ok',
    'late',
  ])
})

test.each([
  ['a picture', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 1, 2, 3, 0, 0, 9]), false],
  ['an empty file', '', false],
  [
    'a list that a person has to answer',
    listOf(vehicles(5)).replaceAll(',2019,', ',2018/2019,'),
    true,
  ],
])('%s comes in the folder of a list that is expected daily', async (_, content, hasCome) => {
  const inbox = { rooftop: 'north', expectDaily: '00:00', timezone: 'UTC' }
  await using fixture = await openInboxFixture(inbox)
  await fixture.pass()
  await fixture.pool.query("update ops.stock_inbox set known_since = now() - interval '3 days'")
  await fixture.drop('file.csv', content)

  await fixture.pass()

  const { lateSince, newestAt, failed } = await fixture.status()
  expect(failed).toHaveLength(1)
  expect([lateSince === null, newestAt !== null]).toEqual([hasCome, hasCome])
})

test('a folder that cannot be used is one alert, until it can', async () => {
  await using receiver = await openReceiver()
  const settings = { alerts: { url: receiver.url, afterMinutes: 0 } }
  await using fixture = await openInboxFixture({ folder: 'none', rooftop: 'north' }, settings)
  const alerts = alertsOf(fixture)

  await fixture.pass()
  await alerts.reportInboxes()
  await fixture.pass()
  await alerts.reportInboxes()

  expect(receiver.got.map(({ what, state }) => [state, what.includes('make the folder')])).toEqual([
    ['raised', true],
  ])
})
