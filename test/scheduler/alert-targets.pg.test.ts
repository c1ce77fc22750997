import { expect, test } from 'vitest'
import { Alerts } from '#src/scheduler/alerts.ts'
import { readAlertStatuses } from '#src/scheduler/alert-status.ts'
import { loadJobs } from '#src/scheduler/load-jobs.ts'
import { localTime } from '#src/values/instant.ts'
import { aRooftop, worldOf } from '../support/build-world.ts'
import { noonZone, openMailServer, openReceiver } from './alert-receivers.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

const twoGroups = () =>
  worldOf({
    rooftops: ['north', 'south'].map((uid, at) =>
      aRooftop({ uid: `rooftop-${uid}`, dealerId: 101 + at, name: `Rooftop ${uid}` }),
    ),
  })
const rooftops = ['north', 'south'].map((group, at) => ({
  ...{ uid: `rooftop-${group}`, name: `Rooftop ${group}`, dealerId: 101 + at, group },
  ...{ key: 'partner-au', timezone: 'Australia/Sydney', currency: 'AUD' },
}))

/** As the scheduler does, without its pause before the first message. */
async function openAlerts(fixture: ScheduleFixture) {
  const context = await fixture.context()
  const alerts = new Alerts(context, await loadJobs(context.config), 0)
  return {
    ...{ alerts, context },
    statuses: async () => await readAlertStatuses(context.db, context.config),
    [Symbol.asyncDispose]: async () => await context[Symbol.asyncDispose](),
  }
}

const quarantine = async ({ database }: ScheduleFixture, uid: string) =>
  await database.pool.query(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
     select 'evaluations', rooftop_id, '1', '[]', 1 from core.rooftop where rooftop_uid = $1`,
    [uid],
  )

/** Lets the pauses of what failed pass. */
const passPauses = async ({ database }: ScheduleFixture) =>
  await database.pool.query("update ops.alert_message set retry_at = retry_at - interval '1 hour'")

test('each receiver gets the problems of its dealer groups and severity, and their end', async () => {
  await using all = await openReceiver()
  await using north = await openReceiver()
  await using critical = await openReceiver()
  const targets = [
    { name: 'north', url: north.url, groups: ['north'] },
    { name: 'critical', url: critical.url, severity: 'critical' as const },
  ]
  const settings = { rooftops, alerts: { url: all.url, targets } }
  await using fixture = await openScheduleFixture({}, settings, twoGroups())
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)

  await quarantine(fixture, 'rooftop-north')
  await quarantine(fixture, 'rooftop-south')
  await watch.alerts.reportObjectives()
  await fixture.database.pool.query(
    "delete from ops.quarantine using core.rooftop as r where r.rooftop_id = quarantine.rooftop_id and rooftop_uid = 'rooftop-north'",
  )
  await watch.alerts.reportObjectives()

  const shown = (messages: readonly { state: string; what: string }[]) =>
    messages.map(({ state, what }) => `${state} ${what.split(':')[0]}`)
  expect(shown(all.got)).toEqual(['raised evaluations of Rooftop north, Rooftop south'])
  expect(shown(north.got)).toEqual([
    'raised evaluations of Rooftop north',
    'resolved evaluations of Rooftop north',
  ])
  expect(critical.got).toEqual([])
  expect(north.got.map(({ key }) => key)).toEqual(['objective/quarantine', 'objective/quarantine'])
})

test('in quiet hours only critical problems are sent, and the others when they are over', async () => {
  await using receiver = await openReceiver()
  const now = Date.now()
  const around = [-2, 2].map((hours) => localTime(new Date(now + hours * 3_600_000), 'UTC'))
  const night = { name: 'night', url: receiver.url, quietHours: around.join('-') }
  await using fixture = await openScheduleFixture({}, { alerts: { targets: [night] } })
  await fixture.run(['run', 'nightly'])
  await quarantine(fixture, 'rooftop-1')
  await fixture.database.pool.query(
    `insert into ops.job_fire (job_name, cause, status, host, process_id, error)
     values ('retention', 'manual', 'failed', 'here', 1, 'the disk is full')`,
  )
  await using watch = await openAlerts(fixture)
  const { config } = watch.context
  const awake = config.alerts.targets.map((target) => ({ ...target, quietHours: null }))
  const atDay = {
    ...watch.context,
    config: { ...config, alerts: { ...config.alerts, targets: awake } },
  }

  await watch.alerts.reportObjectives()
  await watch.alerts.reportJobs()
  const atNight = receiver.got.map(({ key, severity }) => `${key.slice(0, 10)} ${severity}`)
  await new Alerts(atDay, [], 0).reportObjectives()

  expect(atNight).toEqual(['job/failed critical'])
  expect(receiver.got.slice(1)).toMatchObject([
    { key: 'objective/quarantine', state: 'raised', severity: 'warning' },
  ])
})

test('what cannot be sent is tried ten times, shown by status, and sent once the receiver takes a message', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)
  await quarantine(fixture, 'rooftop-1')
  receiver.state.status = 500

  await watch.alerts.reportObjectives()
  const first = await watch.statuses()
  for (let attempt = 0; attempt < 12; attempt++) {
    await passPauses(fixture)
    await watch.alerts.reportObjectives()
  }
  const { asked } = receiver.state
  const last = await fixture.run(['status', '--json'])
  const text = await fixture.run(['status'])
  receiver.state.status = 204
  await passPauses(fixture)
  await watch.alerts.reportObjectives()
  const before = [...receiver.got]
  const tried = await fixture.run(['alerts', 'test'])
  await watch.alerts.reportObjectives()
  await watch.alerts.reportObjectives()

  expect(first['default']).toMatchObject({ status: 'retrying', waiting: 1, notSent: 0 })
  expect(asked).toBe(10)
  expect(last.code).toBe(1)
  const failed = { status: 'failed', waiting: 0, notSent: 1, error: 'answered with 500' }
  expect(JSON.parse(last.stdout).alerts).toMatchObject({ default: failed })
  expect(text.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Alerts to default: 1 message not sent: answered with 500;',
  )
  expect(last.stdout + last.stderr + text.stdout + text.stderr).not.toContain('secret-token')
  expect(before).toEqual([])
  expect(tried.code).toBe(0)
  expect(receiver.got.map(({ key }) => key)).toEqual(['test', 'objective/quarantine'])
  expect(await watch.statuses()).toMatchObject({ default: { status: 'ok', error: null } })
})

test('a mail that one address refuses reaches the others once', async () => {
  await using server = await openMailServer()
  const to = ['kim@example.com', 'gone@example.com', 'sam@example.com']
  const alerts = { format: 'email' as const, to, smtp: server.smtp }
  await using fixture = await openScheduleFixture({}, { alerts })
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)
  await quarantine(fixture, 'rooftop-1')
  server.refused.add('gone@example.com')

  await watch.alerts.reportObjectives()
  await passPauses(fixture)
  await watch.alerts.reportObjectives()
  const meanwhile = server.got.map(({ to: [address] }) => address).sort()
  server.refused.clear()
  await passPauses(fixture)
  await watch.alerts.reportObjectives()

  expect(meanwhile).toEqual(['kim@example.com', 'sam@example.com'])
  expect(server.got.map(({ to: [address] }) => address).sort()).toEqual([...to].sort())
})

test('checks at the same time send each message once', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await fixture.run(['run', 'nightly'])
  await using one = await openAlerts(fixture)
  await using other = await openAlerts(fixture)
  await quarantine(fixture, 'rooftop-1')

  await Promise.all([one, other, one, other].map(({ alerts }) => alerts.reportObjectives()))
  await one.alerts.reportObjectives()

  expect(receiver.got.map(({ key }) => key)).toEqual(['objective/quarantine'])
  expect(new Set(receiver.ids).size).toBe(1)
})

test('a digest has the sentence of the morning about the rooftops of its receiver, once a day', async () => {
  await using receiver = await openReceiver()
  const timezone = noonZone()
  const digest = localTime(new Date(Date.now() - 60_000), timezone)
  const north = { url: receiver.url, severity: 'none' as const, digest, timezone }
  const targets = [{ name: 'north', groups: ['north'], ...north }]
  const settings = {
    rooftops,
    alerts: { targets },
    console: {
      publicUrl: 'https://forecourt.example.com',
      people: [{ email: 'kim@example.com', role: 'engineer' as const }],
    },
  }
  await using fixture = await openScheduleFixture({}, settings, twoGroups())
  await using watch = await openAlerts(fixture)

  await watch.alerts.reportJobs()
  await watch.alerts.reportJobs()
  await fixture.database.pool.query('delete from ops.alert_message')
  await fixture.run(['sync'])
  await watch.alerts.reportJobs()

  expect(receiver.got).toMatchObject([
    { state: 'digest', what: expect.stringMatching(/^Nothing has been loaded yet\.\n/) },
    {
      state: 'digest',
      key: expect.stringMatching(/^digest\/\d{4}-\d\d-\d\d$/),
      what: expect.stringMatching(
        /^Rooftop north is fresh and complete\.\nEvaluations are complete up to /,
      ),
      url: 'https://forecourt.example.com/console/',
    },
  ])
})

test('a digest names the open problems that are not of streams, in the scope of its receiver', async () => {
  await using ops = await openReceiver()
  await using north = await openReceiver()
  const timezone = noonZone()
  const digest = localTime(new Date(Date.now() - 60_000), timezone)
  const quiet = { severity: 'none' as const, digest, timezone }
  const targets = [
    { name: 'ops', url: ops.url, ...quiet },
    { name: 'north', url: north.url, groups: ['north'], ...quiet },
  ]
  const inbox = [{ folder: 'inbox', rooftop: 'rooftop-north', expectDaily: digest, timezone }]
  const settings = { rooftops, alerts: { targets }, stock: { inbox } }
  await using fixture = await openScheduleFixture({}, settings, twoGroups())
  const { pool } = fixture.database
  await fixture.run(['sync'])
  await using watch = await openAlerts(fixture)
  await watch.alerts.reportInboxes()
  await pool.query("update ops.stock_inbox set known_since = now() - interval '3 days'")
  await pool.query(
    `insert into ops.job_fire (job_name, cause, status, host, process_id, error)
     values ('retention', 'manual', 'failed', 'here', 1, 'the disk is full')`,
  )

  await watch.alerts.reportJobs()

  const late = expect.stringMatching(/^The stock list in .* has not come;/)
  const lines = ({ got }: typeof ops) => got.map(({ what }) => what.split('\n'))
  expect(lines(ops)).toEqual([
    [
      'All 2 rooftops are fresh and complete.',
      ...[expect.any(String), 'retention failed: the disk is full', late],
    ],
  ])
  expect(lines(north)).toEqual([['Rooftop north is fresh and complete.', expect.any(String), late]])
})
