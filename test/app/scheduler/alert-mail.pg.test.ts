import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import type { AlertSettings } from '#src/app/config/alerts.ts'
import { readAlertStatuses } from '#src/app/scheduler/alert-status.ts'
import { Alerts } from '#src/app/scheduler/alerts.ts'
import { someOf } from '../../support/cases.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { openMailServer, openReceiver } from './alert-receivers.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

let folder: TemporaryFolder
let file: string

/** A certificate of the host of these tests that no authority has signed. */
beforeAll(async () => {
  folder = await temporaryFolder()
  file = join(folder.path, 'mail.pem')
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ...['-keyout', join(folder.path, 'mail.key'), '-out', file],
  ])
  return async () => await folder[Symbol.asyncDispose]()
})

test.for(
  someOf(
    [
      ['starttls', false],
      ['tls', true],
    ] as const,
    1,
  ),
)(
  'a mail over %s reaches a server whose certificate is trusted, and no other',
  async ([security, secure]) => {
    const [cert, key] = await Promise.all([
      readFile(file, 'utf8'),
      readFile(join(folder.path, 'mail.key'), 'utf8'),
    ])
    await using server = await openMailServer({ secure, cert, key })
    const smtp = { ...server.smtp, host: 'localhost', security }
    const alerts = { format: 'email' as const, to: ['kim@example.com'], smtp }
    await using fixture = await openScheduleFixture({}, { alerts })
    const sent = async (env: Record<string, string | undefined>) =>
      await fixture.start(['alerts', 'test'], { env }).ended

    const refused = await sent({ NODE_EXTRA_CA_CERTS: undefined })
    const before = [...server.got]
    const trusted = await sent({ NODE_EXTRA_CA_CERTS: file })

    expect(refused.code).toBe(1)
    expect(refused.stdout).toBe(
      'default (email, address 1): the mail server cannot be reached: its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): ' +
        'correct it, or name the file of its authority in NODE_EXTRA_CA_CERTS\n',
    )
    expect(before).toEqual([])
    expect(trusted).toMatchObject({ code: 0 })
    expect(server.got).toMatchObject([
      { to: ['kim@example.com'], text: expect.stringContaining('Alerts reach default.') },
    ])
  },
)

/** The alerts of a fixture, with changes of their config. */
async function openAlerts(fixture: ScheduleFixture) {
  const context = await fixture.context()
  const changed = (changes: Partial<AlertSettings>) => {
    const config = { ...context.config, alerts: { ...context.config.alerts, ...changes } }
    return {
      alerts: new Alerts({ ...context, config }, [], 0),
      statuses: async () => await readAlertStatuses(context.db, config),
    }
  }
  return {
    ...{ ...changed({}), changed },
    [Symbol.asyncDispose]: async () => await context[Symbol.asyncDispose](),
  }
}

const quarantine = async ({ database }: ScheduleFixture) =>
  await database.pool.query(
    "insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) values ('evaluations', 1, '1', '[]', 1)",
  )

/** Lets the pauses of what failed pass. */
const passPauses = async ({ database }: ScheduleFixture) =>
  await database.pool.query("update ops.alert_message set retry_at = retry_at - interval '1 hour'")

test('only the addresses of the config get messages and count in the status', {
  tags: 'ci',
}, async () => {
  await using server = await openMailServer()
  const to = ['kim@example.com', 'smm@example.com']
  const alerts = { format: 'email' as const, to, smtp: server.smtp }
  await using fixture = await openScheduleFixture({}, { alerts })
  await fixture.run(['run', 'nightly'])
  await using watch = await openAlerts(fixture)
  await quarantine(fixture)
  server.refused.add('smm@example.com')
  await watch.alerts.reportObjectives()
  await fixture.database.pool.query(
    'update ops.alert_message set attempts = 10 where sent_at is null',
  )
  const before = await watch.statuses()

  const corrected = watch.changed({ to: ['sam@example.com'] })
  await corrected.alerts.reportObjectives()
  const after = await corrected.statuses()
  await fixture.database.pool.query('delete from ops.quarantine')
  await corrected.alerts.reportObjectives()

  expect(before).toMatchObject({ default: { status: 'failed', notSent: 1 } })
  expect(after).toMatchObject({ default: { status: 'ok', notSent: 0, error: null } })
  expect(server.got.map(({ to: [address] }) => address)).toEqual([
    ...['kim@example.com', 'sam@example.com', 'sam@example.com'],
  ])
})

test.for(someOf(['email', 'json'] as const, 1))(
  'a receiver that is switched from %s gets each message once, and nothing of before',
  async (from) => {
    await using server = await openMailServer()
    await using receiver = await openReceiver()
    const to = ['kim@example.com', 'sam@example.com']
    const ways = {
      email: { format: 'email' as const, to, url: null },
      json: { format: 'json' as const, to: [], url: receiver.url },
    }
    const settings = { alerts: { ...ways[from], smtp: server.smtp } }
    await using fixture = await openScheduleFixture({}, settings)
    await fixture.run(['run', 'nightly'])
    await using watch = await openAlerts(fixture)
    await quarantine(fixture)
    receiver.state.status = 500
    for (const address of to) server.refused.add(address)
    await watch.alerts.reportObjectives()
    receiver.state.status = 204
    server.refused.clear()
    await passPauses(fixture)

    const switched = watch.changed(ways[from === 'email' ? 'json' : 'email'])
    await switched.alerts.reportObjectives()
    await passPauses(fixture)
    await switched.alerts.reportObjectives()

    const arrived = [...server.got.map((mail) => mail.to[0]), ...receiver.got.map(({ key }) => key)]
    expect(arrived.sort()).toEqual(from === 'email' ? ['objective/quarantine'] : to)
    expect(await switched.statuses()).toMatchObject({ default: { status: 'ok', error: null } })
  },
)
