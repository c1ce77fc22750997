import { expect, test } from 'vitest'
import { anEvaluation } from '../../support/build-world.ts'
import { runCli, runInProcess } from '../../support/cli.ts'
import { databaseLocks } from '../../support/postgres.ts'
import { openBillingFixture, search, syncFirst } from './api-bill-fixture.ts'

/** Sessions that wait for the lock of a budget. */
const reserving = `select pid from ${databaseLocks} where classid = 7302 and not granted`

test('without a budget no billable call is sent', async () => {
  await using fixture = await openBillingFixture({})

  const { code, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(2)
  expect(stderr).toContain('budget.ppsrSearch is 0')
  expect([fixture.sandbox.requests.count(), await fixture.bills()]).toEqual([0, []])
})

test('a call is committed with its answer, and the next one is beyond the budget', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)

  const first = await runInProcess(search(), fixture)
  const second = await runInProcess(search(), fixture)

  expect([first.code, second.code]).toEqual([0, 2])
  expect(JSON.parse(first.stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(second.stderr).toContain('budget.ppsrSearch allows 1 calls a day, and 1 are used today')
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
  expect(fixture.sandbox.requests.count('/ppsrsearch')).toBe(1)
})

test('a documented refusal costs nothing and does not count in the budget', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)

  const refused = await runInProcess(search(1002), fixture)
  const searched = await runInProcess(search(), fixture)

  expect([refused.code, searched.code]).toEqual([1, 0])
  expect(refused.stderr).toContain('answered 400')
  expect(await fixture.bills()).toEqual([
    ['ppsrsearch', '1002', 'released', 400],
    ['ppsrsearch', '1001', 'committed', 200],
  ])
})

test('a call that is interrupted after its reservation and before it was sent is released', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  const { pool } = fixture.database
  const gate = await pool.connect()
  await gate.query("select pg_advisory_lock(7302, hashtext('ppsrSearch'))")
  const interruption = new AbortController()

  const ended = runInProcess(search(), fixture, interruption.signal)
  await expect.poll(() => fixture.query(reserving)).toHaveLength(1)
  interruption.abort(new Error('Interrupted.'))
  await gate.query('select pg_advisory_unlock_all()')
  gate.release()
  await ended

  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'released', null]])
  expect(fixture.sandbox.requests.count('/ppsrsearch')).toBe(0)
})

test('when four processes compete for the last call, exactly one gets it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)

  const racers = await Promise.all(Array.from({ length: 4 }, () => runCli(search(), fixture)))

  expect(racers.map(({ code }) => code).sort()).toEqual([0, 2, 2, 2])
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
})

test('the vehicle-data APIs have their own budgets, with the VIN as the subject', async () => {
  await using fixture = await openBillingFixture({ budget: { historyCheck: 1, prediction: 1 } })
  const vin = 'SAMPLEAU000000001'

  const history = await runInProcess(['api', 'historyCheck', '--vin', vin, '--yes'], fixture)
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
  const waiting = runInProcess([...predict, '--wait', '--every', '0.2'], fixture)
  await expect
    .poll(() => fixture.sandbox.requests.count('/prediction/{requestId}'))
    .toBeGreaterThan(0)
  fixture.sandbox.clock.advance(120_000)
  const predicted = await waiting

  expect([history.code, predicted.code]).toEqual([0, 0])
  expect(JSON.parse(predicted.stdout)).toMatchObject({ status: 'completed' })
  expect(predicted.stderr).toContain('waiting for prediction')
  expect(await fixture.bills()).toEqual([
    ['historyCheck', vin, 'committed', 200],
    ['prediction', `${vin}/9000/reasoning`, 'committed', 200],
  ])
  // The awaited answer was paid for too.
  const stored = await fixture.query<{ body: unknown }>(
    "select body from raw.payload where endpoint = 'prediction' order by fetched_at",
  )
  expect(stored).toHaveLength(2)
  expect(stored[1]!.body).toEqual(JSON.parse(predicted.stdout))
})

test('status shows the calls of today by user and vehicle, and the open calls of earlier days', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 2, historyCheck: 1 } })
  await runInProcess(['sync', 'users', 'evaluations'], fixture)
  await runInProcess(search(), fixture)
  const vin = 'SAMPLEUS000000001'
  fixture.sandbox.faults.add({ match: { path: '/historyCheck' }, fault: { kind: 'reset' } })
  const check = ['api', 'historyCheck', '--vin', vin, '--yes']
  await runInProcess(check, fixture)
  await fixture.query(
    "update ops.billable_call set day = day - 1, at = at - interval '1 day' where call_id = 2",
  )
  await runInProcess([...check, '--again'], fixture)

  const { stdout } = await runInProcess(['--json', 'status'], fixture)
  const { stdout: wrapped } = await runInProcess(['status'], fixture)
  const text = wrapped.replaceAll(/\s+/g, ' ')

  const by = expect.stringContaining('@')
  const at = expect.stringMatching(/^\d{4}-/)
  const [made] = fixture.sandbox.checks.all()
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
  expect(text).toMatch(/ 20[0-9-]+ [0-9:]{8} UTC historyCheck /)
})
