import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { AlertMessage } from '#src/scheduler/alert-post.ts'
import { openScheduleHouse, type ScheduleHouse } from './schedule-house.ts'

/** Takes alerts; answers 500 while `broken`. */
async function openReceiver() {
  const got: AlertMessage[] = []
  const state = { broken: false, asked: 0 }
  const server = createServer(async (request, response) => {
    const body = await request.setEncoding('utf8').toArray()
    state.asked++
    if (!state.broken) got.push(JSON.parse(body.join('')) as AlertMessage)
    response.writeHead(state.broken ? 500 : 204).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    got,
    state,
    url: `http://127.0.0.1:${port}/hook/secret-token`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const shown = (messages: readonly AlertMessage[]) =>
  messages.map(({ key, state }) => `${key} ${state}`).sort()

const dirty = async ({ database }: ScheduleHouse) =>
  (await database.pool.query('select alert_key from ops.alert where resolved_at is null')).rows

test('a job that fails is told once, however often it fails, and once more when it is well again', async () => {
  await using receiver = await openReceiver()
  await using house = await openScheduleHouse({}, { alerts: { url: receiver.url } })
  const broken = house.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'html' },
  })

  const failed = await house.run(['run', 'hourly'])
  await house.run(['run', 'hourly'])
  const afterTwo = shown(receiver.got)
  broken.remove()
  const well = await house.run(['run', 'hourly'])

  expect([failed.code, well.code]).toEqual([1, 0])
  const keys = ['job/hourly/failed', 'objective/rooftop-1/evaluations']
  expect(afterTwo).toEqual(keys.map((key) => `${key} raised`))
  expect(shown(receiver.got)).toEqual(keys.flatMap((key) => [`${key} raised`, `${key} resolved`]))
  const [raised] = receiver.got
  expect(raised).toEqual({
    source: 'forecourt',
    key: 'job/hourly/failed',
    state: 'raised',
    what: expect.stringMatching(/^hourly failed: rooftop-1: evaluations: .*web page, not JSON/),
    since: expect.stringMatching(/^20\d\d-/),
    look: 'forecourt status',
  })
  expect(await dirty(house)).toEqual([])
})

test('an alert that does not arrive is tried again a bounded number of times, and the address is shown nowhere', async () => {
  await using receiver = await openReceiver()
  await using house = await openScheduleHouse({}, { alerts: { url: receiver.url } })
  house.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'html' } })
  receiver.state.broken = true

  const first = await house.run(['run', 'hourly'])
  receiver.state.broken = false
  await house.run(['run', 'hourly'])

  expect(receiver.state.asked).toBeGreaterThan(2)
  expect(shown(receiver.got)).toEqual([
    'job/hourly/failed raised',
    'objective/rooftop-1/evaluations raised',
  ])
  expect(first.stderr).toContain('alerts.url answered with 500')
  expect(first.stderr).not.toContain('secret-token')
})

test('a receiver that stays broken is given up', async () => {
  await using receiver = await openReceiver()
  await using house = await openScheduleHouse({}, { alerts: { url: receiver.url } })
  const { pool } = house.database
  await pool.query(
    "insert into ops.alert (alert_key, detail, attempts) values ('job/hourly/failed', 'old', 10)",
  )
  await pool.query(`insert into ops.job_fire (job_name, cause, status, host, process_id)
    values ('hourly', 'manual', 'failed', 'here', 1)`)
  house.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'html' } })

  await house.run(['run', 'hourly'])

  expect(shown(receiver.got)).toEqual(['objective/rooftop-1/evaluations raised'])
})
