import { expect, test } from 'vitest'
import { anEvaluation } from '#src/sandbox/build-world.ts'
import { runCli, runInProcess } from '../support/cli.ts'
import { openBillingFixture, search, syncFirst } from './api-bill-fixture.ts'

/** Who waits for the lock of a budget. */
const reserving = `select pid from pg_locks where classid = 7302 and not granted
  and database = (select oid from pg_database where datname = current_database())`

test('without a budget nothing that costs money is sent', async () => {
  await using office = await openBillingFixture({})

  const { code, stderr } = await runInProcess(search(), office)

  expect(code).toBe(2)
  expect(stderr).toContain('budget.ppsrSearch is 0')
  expect([office.sandbox.requests.count(), await office.bills()]).toEqual([0, []])
})

test('a call is committed with its answer, and the next one is beyond the budget', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)

  const first = await runInProcess(search(), office)
  const second = await runInProcess(search(), office)

  expect([first.code, second.code]).toEqual([0, 2])
  expect(JSON.parse(first.stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(second.stderr).toContain('budget.ppsrSearch allows 1 calls a day, and 1 are used today')
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
  expect(office.sandbox.requests.count('/ppsrsearch')).toBe(1)
})

test('a documented refusal costs nothing, and its place in the budget is free again', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)

  const refused = await runInProcess(search(1002), office)
  const searched = await runInProcess(search(), office)

  expect([refused.code, searched.code]).toEqual([1, 0])
  expect(refused.stderr).toContain('answered 400')
  expect(await office.bills()).toEqual([
    ['ppsrsearch', '1002', 'released', 400],
    ['ppsrsearch', '1001', 'committed', 200],
  ])
})

test('a call that is interrupted after its reservation and before it was sent is released', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  const { pool } = office.database
  const gate = await pool.connect()
  await gate.query("select pg_advisory_lock(7302, hashtext('ppsrSearch'))")
  const interruption = new AbortController()

  const ended = runInProcess(search(), office, interruption.signal)
  await expect.poll(() => office.query(reserving), { timeout: 20_000 }).toHaveLength(1)
  interruption.abort(new Error('Interrupted.'))
  await gate.query('select pg_advisory_unlock_all()')
  gate.release()
  await ended

  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'released', null]])
  expect(office.sandbox.requests.count('/ppsrsearch')).toBe(0)
})

test('of eight processes that race for the last call, exactly one wins', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)

  const racers = await Promise.all(Array.from({ length: 8 }, () => runCli(search(), office)))

  expect(racers.map(({ code }) => code).sort()).toEqual([0, 2, 2, 2, 2, 2, 2, 2])
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
})

test('the vehicle-data APIs bill from budgets of their own, with the VIN as the subject', async () => {
  await using office = await openBillingFixture({ budget: { historyCheck: 1, prediction: 1 } })
  const vin = 'SAMPLEAU000000001'

  const history = await runInProcess(['api', 'historyCheck', '--vin', vin, '--yes'], office)
  const predict = [
    'api',
    'prediction',
    '--vin',
    vin,
    '--km',
    '9000',
    '--reasoning',
    '--yes',
    '--rooftop',
    'rooftop-1',
  ]
  const waiting = runInProcess([...predict, '--wait', '--every', '0.2'], office)
  await expect
    .poll(() => office.sandbox.requests.count('/prediction/{requestId}'))
    .toBeGreaterThan(0)
  office.sandbox.clock.advance(120_000)
  const predicted = await waiting

  expect([history.code, predicted.code]).toEqual([0, 0])
  expect(JSON.parse(predicted.stdout)).toMatchObject({ status: 'completed' })
  expect(predicted.stderr).toContain('waiting for prediction')
  expect(await office.bills()).toEqual([
    ['historyCheck', vin, 'committed', 200],
    ['prediction', vin, 'committed', 200],
  ])
  // What was waited for was paid for too.
  const kept = await office.query<{ body: unknown }>(
    "select body from raw.payload where endpoint = 'prediction' order by fetched_at",
  )
  expect(kept).toHaveLength(2)
  expect(kept[1]!.body).toEqual(JSON.parse(predicted.stdout))
})

test('status shows what was spent today, by whom, on which vehicle, and what is open of earlier days', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 2, historyCheck: 1 } })
  await runInProcess(['sync', 'users', 'evaluations'], office)
  await runInProcess(search(), office)
  const vin = 'SAMPLEUS000000001'
  office.sandbox.faults.add({ match: { path: '/historyCheck' }, fault: { kind: 'reset' } })
  const check = ['api', 'historyCheck', '--vin', vin, '--yes']
  await runInProcess(check, office)
  await office.query(
    "update ops.billable_call set day = day - 1, at = at - interval '1 day' where call_id = 2",
  )
  await runInProcess([...check, '--again'], office)

  const { stdout } = await runInProcess(['--json', 'status'], office)
  const { stdout: text } = await runInProcess(['status'], office)

  const by = expect.stringContaining('@')
  const at = expect.stringMatching(/^\d{4}-/)
  const [made] = office.sandbox.checks.all()
  const unknown = {
    ...{ operation: 'historyCheck', state: 'reserved', subject: vin, vin, rooftop: null, by, at },
    ...{ check: null, note: expect.stringContaining('was not repeated') },
  }
  expect(JSON.parse(stdout).spend).toEqual({
    ppsrSearch: {
      ...{ allowed: 2, used: 1, unknown: 0, open: [] },
      calls: [
        {
          ...{ callId: 1, operation: 'ppsrsearch', state: 'committed', subject: '1001', by, at },
          ...{ vin: anEvaluation().vin, rooftop: 'rooftop-1', check: String(made!.id), note: null },
        },
      ],
    },
    historyCheck: {
      ...{ allowed: 1, used: 1, unknown: 1 },
      calls: [{ ...unknown, callId: 3 }],
      open: [{ ...unknown, callId: 2 }],
    },
  })
  expect(text).toContain('budget.historyCheck: 1 of 1 calls, 1 of them with an unknown outcome')
  expect(text).toContain('Calls of earlier days on budget.historyCheck that may have been billed')
  expect(text).toContain(`check ${made!.id}`)
})
