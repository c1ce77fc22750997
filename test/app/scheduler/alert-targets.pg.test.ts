import { expect, test } from 'vitest'
import { readAlertStatuses } from '#src/app/scheduler/alert-status.ts'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { openMailServer, openReceiver } from './alert-receivers.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

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

test('each receiver gets the problems of its severity, and their end', async () => {
  await using all = await openReceiver()
  await using critical = await openReceiver()
  const targets = [{ name: 'critical', url: critical.url, severity: 'critical' as const }]
  await using fixture = await openScheduleFixture({}, { alerts: { url: all.url, targets } })
  await fixture.run(['run', 'nightly'])
  await fixture.database.pool.query(
    `insert into ops.job_fire (job_name, cause, status, host, process_id, error)
     values ('retention', 'manual', 'failed', 'here', 1, 'the disk is full')`,
  )
  await using watch = await openAlerts(fixture)

  await quarantine(fixture, 'rooftop-1')
  await watch.alerts.reportObjectives()
  await watch.alerts.reportJobs()
  await fixture.database.pool.query('delete from ops.quarantine')
  await watch.alerts.reportObjectives()

  const shown = (messages: readonly { state: string; key: string }[]) =>
    messages.map(({ state, key }) => `${state} ${key.slice(0, 20)}`)
  expect(shown(critical.got)).toEqual([
    'raised job/failed/xxxxxxxxx'.replace(/x+/, all.got[1]!.key.slice(11, 20)),
  ])
  expect(shown(all.got)).toEqual([
    'raised objective/quarantine',
    shown(critical.got)[0],
    'resolved objective/quarantine',
  ])
})

test('what cannot be sent is tried ten times, shown by status, and sent once the receiver takes a message', {
  tags: 'ci',
}, async () => {
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
  expect(text.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Correct it (after a change of the config, restart "forecourt schedule", "serve" and "stock watch"), then run "forecourt alerts test default".',
  )
  expect(last.stdout + last.stderr + text.stdout + text.stderr).not.toContain('secret-token')
  expect(before).toEqual([])
  expect(tried.code).toBe(0)
  expect(receiver.got.map(({ key }) => key)).toEqual(['test', 'objective/quarantine'])
  expect(await watch.statuses()).toMatchObject({ default: { status: 'ok', error: null } })
})

test('a mail that one address refuses reaches the others once', { tags: 'ci' }, async () => {
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

test('checks at the same time send each message once', { tags: 'ci' }, async () => {
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
