import { expect, test } from 'vitest'
import type { AlertMessage } from '#src/app/scheduler/alert-message.ts'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { aRooftop, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { openReceiver } from './alert-receivers.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

const shown = (messages: readonly AlertMessage[]) =>
  messages.map(({ key, state }) => `${key} ${state}`).sort()

const dirty = async ({ database }: ScheduleFixture) =>
  (await database.pool.query('select alert_key from ops.alert where resolved_at is null')).rows

test('a failing job is reported once, however often it fails, and once more when it succeeds again', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  const broken = fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'html' },
  })

  const failed = await fixture.run(['run', 'hourly'])
  await fixture.run(['run', 'hourly'])
  const afterTwo = shown(receiver.got)
  broken.remove()
  const well = await fixture.run(['run', 'hourly'])

  expect([failed.code, well.code]).toEqual([1, 0])
  const keys = [expect.stringMatching(/^objective\/failed\/[0-9a-f]{12}$/)]
  expect(afterTwo).toHaveLength(1)
  expect(receiver.got.map(({ state }) => state)).toEqual(['raised', 'resolved'])
  expect(receiver.got.map(({ key }) => key)).toEqual([...keys, ...keys])
  const [raised] = receiver.got
  expect(raised).toEqual({
    source: 'forecourt',
    key: keys[0],
    state: 'raised',
    severity: 'critical',
    what: expect.stringMatching(/^evaluations of Rooftop One: .*web page, not JSON/),
    since: expect.stringMatching(/^20\d\d-/),
    look: 'forecourt status',
  })
  expect(await dirty(fixture)).toEqual([])
})

test('an undelivered alert is retried after a pause, and the address is shown nowhere', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  fixture.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'html' } })
  receiver.state.status = 500

  const first = await fixture.run(['run', 'hourly'])
  receiver.state.status = 204
  await fixture.run(['run', 'hourly'])
  // A receiver that is down for a minute must not use up all attempts.
  const atOnce = receiver.state.asked
  await age(fixture, 1)
  await fixture.run(['run', 'hourly'])

  expect([atOnce, receiver.state.asked]).toEqual([1, 2])
  expect(receiver.got).toMatchObject([{ state: 'raised' }])
  expect(first.stderr).toContain('alerts: default answered with 500')
  expect(first.stderr).not.toContain('secret-token')
})

test('a receiver that stays broken gets no more attempts', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  fixture.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'html' } })
  receiver.state.status = 500
  await fixture.run(['run', 'hourly'])
  await fixture.database.pool.query('update ops.alert_message set attempts = 10')
  await age(fixture, 1000)
  receiver.state.status = 204

  await fixture.run(['run', 'hourly'])

  expect(receiver.got).toEqual([])
})

const eightRooftops = () =>
  worldOf({
    rooftops: [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
      aRooftop({ uid: `rooftop-${number}`, dealerId: 100 + number, name: `Rooftop ${number}` }),
    ),
  })

test('a refused key is one alert, for any number of streams and rooftops', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  const settings = { alerts: { url: receiver.url } }
  await using fixture = await openScheduleFixture({}, settings, eightRooftops())
  await fixture.run(['run', 'nightly'])
  const dead = fixture.sandbox.faults.add({ fault: { kind: 'status', status: 401 } })

  const failed = await fixture.run(['run', 'nightly'])
  await fixture.run(['run', 'recheck'])
  dead.remove()
  await fixture.run(['run', 'nightly'])
  await fixture.run(['run', 'recheck'])

  expect(failed.code).toBe(1)
  expect(shown(receiver.got)).toEqual([
    'objective/key/partner-au raised',
    'objective/key/partner-au resolved',
  ])
  expect(receiver.got[0]!.what).toMatch(
    /^users, evaluations of Rooftop 1, Rooftop 2, Rooftop 3, Rooftop 4, Rooftop 5 and 3 more: /,
  )
  expect(await dirty(fixture)).toEqual([])
})

/** As the scheduler does: one check after a job, and one at every sweep. */
async function openAlerts(fixture: ScheduleFixture) {
  const context = await fixture.context()
  const alerts = new Alerts(context, await loadJobs(context.config))
  return { alerts, [Symbol.asyncDispose]: async () => await context[Symbol.asyncDispose]() }
}

async function age({ database }: ScheduleFixture, minutes: number): Promise<void> {
  const ago = 'now() - make_interval(mins => $1)'
  await database.pool.query(`update ops.alert set raised_at = ${ago}`, [minutes])
  await database.pool.query(
    `update ops.alert_message set retry_at = retry_at - make_interval(mins => $1)`,
    [minutes],
  )
}

test('a problem is reported after the time in the config, and one that was over before is not', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  const { pool } = fixture.database
  const plant = async () =>
    await pool.query(`insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
      values ('evaluations', 1, '1', '[]', 1)`)
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)

  await plant()
  await watch.alerts.reportObjectives()
  await age(fixture, 6)
  await pool.query('delete from ops.quarantine')
  await watch.alerts.reportJobs()
  const brief = [...receiver.got]
  await plant()
  await watch.alerts.reportObjectives()
  await age(fixture, 4)
  await watch.alerts.reportJobs()
  const early = [...receiver.got]
  await age(fixture, 6)
  await watch.alerts.reportJobs()
  await watch.alerts.reportJobs()

  expect(brief).toEqual([])
  expect(early).toEqual([])
  expect(shown(receiver.got)).toEqual(['objective/quarantine raised'])
})

test('what drop folders left open is over when the last one leaves the config', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await fixture.database.pool.query(
    `with late as (insert into ops.alert (alert_key, detail) values ('inbox/late/0', 'late') returning alert_id)
     insert into ops.alert_message (target, kind, alert_id, severity, attempts, sent_at)
     select 'default', 'raised', alert_id, 'warning', 1, now() from late`,
  )
  await using watch = await openAlerts(fixture)

  await watch.alerts.reportJobs()

  expect(shown(receiver.got)).toEqual(['inbox/late/0 resolved'])
})

test('a reported gap is not resolved while a run works on it', { tags: 'ci' }, async () => {
  await using receiver = await openReceiver()
  const alerts = { url: receiver.url, afterMinutes: 0 }
  await using fixture = await openScheduleFixture({}, { alerts })
  const { pool } = fixture.database
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)
  await pool.query(
    "update ops.coverage set wanted = wanted + tstzmultirange(tstzrange(upper(wanted), upper(wanted) + interval '1 day'))",
  )

  await watch.alerts.reportObjectives()
  await pool.query(`with made as (
      insert into ops.run (command, arguments, source_started_at)
      select 'sync', '{"mode": "sync", "from": 0}', upper(wanted) from ops.coverage returning run_id)
    insert into ops.run_stream (run_id, rooftop_id, stream) select run_id, 1, 'evaluations' from made`)
  await watch.alerts.reportObjectives()
  await pool.query("update ops.run set status = 'failed' where status = 'running'")
  await watch.alerts.reportObjectives()
  const meanwhile = shown(receiver.got)
  await pool.query('update ops.coverage set wanted = covered')
  await watch.alerts.reportObjectives()

  expect(meanwhile).toEqual(['objective/gaps raised'])
  expect(shown(receiver.got)).toEqual(['objective/gaps raised', 'objective/gaps resolved'])
})

test.each(
  someOf(
    [
      { when: 'before the first good run', nights: [], who: 'hourly failed' },
      { when: 'after it', nights: ['nightly'], who: 'evaluations of Rooftop One' },
    ],
    1,
  ),
)('jobs that fail because the source is down are one alert $when', async ({ nights, who }) => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  for (const job of nights) await fixture.run(['run', job])
  await fixture.sandbox.close()

  for (const job of ['hourly', 'recheck', 'refresh-links']) await fixture.run(['run', job])

  expect(receiver.got).toMatchObject([
    { state: 'raised', what: expect.stringMatching(new RegExp(`^${who}: .*cannot be reached`)) },
  ])
})

test.for([
  ['schedule', 'enabled', 1],
  ['schedule', 'off', 0],
  // As system cron runs it.
  ['manual', 'off', 1],
] as const)(
  'a failure of a job (%s, %s) gives %s alerts by the run of another job',
  async ([cause, state, alerts]) => {
    await using receiver = await openReceiver()
    await using fixture = await openScheduleFixture(
      { hourly: { enabled: true }, retention: { enabled: state === 'enabled' } },
      { alerts: { url: receiver.url } },
    )
    await fixture.run(['run', 'hourly'])
    await fixture.database.pool.query(
      `insert into ops.job_fire (job_name, cause, slot_at, status, error, host, process_id, claimed_at, finished_at)
     values ('retention', $1::text, case when $1::text = 'schedule' then now() end, 'failed', 'the disk is full', 'h', 1, now(), now())`,
      [cause],
    )

    await fixture.run(['run', 'hourly'])

    const what = 'retention failed: the disk is full'
    expect(receiver.got.map((message) => message.what)).toEqual(Array(alerts).fill(what))
  },
)

test('a failing job is not resolved while its next run is in progress', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  const alerts = { url: receiver.url, afterMinutes: 0 }
  await using fixture = await openScheduleFixture({}, { alerts })
  const { pool } = fixture.database
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)
  const record = async (status: string) =>
    await pool.query(
      `insert into ops.job_fire (job_name, cause, status, host, process_id, error)
       values ('retention', 'manual', $1::text, 'here', 1, case when $1 = 'failed' then 'the disk is full' end)`,
      [status],
    )

  for (const status of ['failed', 'running', 'stopped']) {
    await record(status)
    await watch.alerts.reportJobs()
  }
  const meanwhile = receiver.got.map(({ state }) => state)
  await record('ok')
  await watch.alerts.reportJobs()

  expect(meanwhile).toEqual(['raised'])
  expect(receiver.got).toMatchObject([
    { state: 'raised', what: 'retention failed: the disk is full' },
    { state: 'resolved' },
  ])
})
