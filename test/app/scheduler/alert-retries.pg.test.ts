import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import {
  claimAttempt,
  dueMessages,
  queueRaised,
  saveProblems,
} from '#src/app/scheduler/alert-outbox.ts'
import { readSource, registerSource } from '#src/warehouse/db/run-source.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { until } from '../../support/child.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { openReceiver } from './alert-receivers.ts'
import { openScheduleFixture, type ScheduleFixture } from './schedule-fixture.ts'

const quarantine = async ({ database }: ScheduleFixture) =>
  await database.pool.query(
    "insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id) values ('evaluations', 1, '1', '[]', 1)",
  )
const clear = async ({ database }: ScheduleFixture) =>
  await database.pool.query('delete from ops.quarantine')
const pass = async ({ database }: ScheduleFixture, minutes: number) =>
  await database.pool.query(
    `update ops.alert_message set retry_at = retry_at - ago, paused_until = paused_until - ago, made_at = made_at - ago
     from make_interval(mins => $1) as ago`,
    [minutes],
  )
const shown = (got: readonly { key: string; state: string }[]) =>
  got.map(({ key, state }) => `${key} ${state}`)

const statusOf = async (fixture: ScheduleFixture, target: string) =>
  JSON.parse((await fixture.run(['status', '--json'])).stdout).alerts[target]

/** Starts a job whose alert the receiver takes without an answer, and kills the process then. */
async function killAfterSending(
  fixture: ScheduleFixture,
  state: { asked: number; isMute: boolean },
): Promise<void> {
  state.isMute = true
  const asked = state.asked
  const child = fixture.start(['run', 'hourly'])
  await until(() => state.asked > asked)
  child.kill('SIGKILL')
  await child.ended
  state.isMute = false
}

test('a message whose process is killed between sending and noting it arrives once more, with the same id', async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await fixture.run(['run', 'hourly'])
  await quarantine(fixture)

  await killAfterSending(fixture, receiver.state)
  const status = await fixture.run(['status', '--json'])
  await fixture.run(['run', 'hourly'])
  const atOnce = [...receiver.got]
  await pass(fixture, 1)
  await fixture.run(['run', 'hourly'])
  await pass(fixture, 100)
  await fixture.run(['run', 'hourly'])

  expect(JSON.parse(status.stdout).alerts.default).toMatchObject({
    ...{ status: 'retrying', waiting: 1 },
    error: 'the attempt has not ended, or its process died',
  })
  expect(shown(atOnce)).toEqual(['objective/quarantine raised'])
  expect(shown(receiver.got)).toEqual([
    'objective/quarantine raised',
    'objective/quarantine raised',
  ])
  expect(new Set(receiver.ids).size).toBe(1)
})

test('a problem that is over before a killed process noted its message is reported as over', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await fixture.run(['run', 'hourly'])
  await quarantine(fixture)

  await killAfterSending(fixture, receiver.state)
  await clear(fixture)
  await fixture.run(['run', 'hourly'])
  await pass(fixture, 1)
  await fixture.run(['run', 'hourly'])
  await fixture.run(['run', 'hourly'])

  expect(shown(receiver.got)).toEqual([
    'objective/quarantine raised',
    'objective/quarantine resolved',
  ])
})

test('a problem that ended before its message arrived is not a failure once the receiver works, and its end is sent', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  await using fixture = await openScheduleFixture({}, { alerts: { url: receiver.url } })
  await fixture.run(['run', 'hourly'])
  await quarantine(fixture)
  receiver.state.status = 500
  await fixture.run(['run', 'hourly'])
  await clear(fixture)
  await fixture.run(['run', 'hourly'])
  const before = await statusOf(fixture, 'default')
  receiver.state.status = 204

  await fixture.run(['alerts', 'test'])
  const tested = await statusOf(fixture, 'default')
  await pass(fixture, 1)
  await fixture.run(['run', 'hourly'])

  expect(before).toMatchObject({ status: 'failed', notSent: 1 })
  expect(tested).toMatchObject({ status: 'never', notSent: 0, error: null })
  expect(shown(receiver.got)).toEqual(['test test', 'objective/quarantine resolved'])
})

test('of two processes that found the same message due, one sends it', async () => {
  await using database = await createTestDatabase()
  const db = openDb(database.pool)
  const sourceId = await registerSource(db, readSource(makeConfig({}, '/nowhere')))
  await saveProblems(
    db,
    { kind: 'job/', sourceId },
    [{ key: 'job/late', what: 'nightly late' }],
    ['job/late'],
  )
  const message = { target: 'ops', recipient: '', key: 'job/late', severity: 'critical' as const }
  await queueRaised(db, sourceId, [message])
  const sending = { targets: ['ops'], recipients: [''], sourceId, afterMinutes: 0 }
  const [due] = await dueMessages(db, sending, ['job/'])

  const claims = await Promise.all([due!, due!].map((one) => claimAttempt(db, one)))

  expect(claims.sort()).toEqual([false, true])
  expect(await dueMessages(db, sending, ['job/'])).toEqual([])
})

test('a receiver that asks for a pause gets none of its messages before it ends, and one of an hour at most', {
  tags: 'ci',
}, async () => {
  await using receiver = await openReceiver()
  await using other = await openReceiver()
  const targets = [{ name: 'other', url: other.url }]
  const alerts = { url: receiver.url, targets }
  await using fixture = await openScheduleFixture({}, { alerts })
  await fixture.run(['run', 'hourly'])
  await quarantine(fixture)
  await fixture.database.pool.query(
    "insert into ops.job_fire (job_name, cause, status, host, process_id, error) values ('retention', 'manual', 'failed', 'here', 1, 'the disk is full')",
  )
  Object.assign(receiver.state, { status: 429, headers: { 'retry-after': '1800' } })
  await fixture.run(['run', 'hourly'])
  await pass(fixture, 29)
  await fixture.run(['run', 'hourly'])
  const during = receiver.state.asked
  const status = await fixture.run(['status', '--json'])
  receiver.state.headers = { 'retry-after': '999999' }
  await pass(fixture, 2)
  await fixture.run(['run', 'hourly'])
  receiver.state.status = 204
  await pass(fixture, 61)
  await fixture.run(['run', 'hourly'])

  expect(during).toBe(1)
  expect(JSON.parse(status.stdout).alerts.default).toMatchObject({
    ...{ status: 'retrying', error: 'answered with 429' },
  })
  const both = [expect.stringMatching(/^job\/failed\/.* raised$/), 'objective/quarantine raised']
  expect(shown(other.got)).toEqual(both)
  expect(shown(receiver.got).sort()).toEqual(both)
})
