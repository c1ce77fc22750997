import { expect, test } from 'vitest'
import { anEvaluation } from '#src/sandbox/build-world.ts'
import { runInProcess } from '../support/cli.ts'
import {
  type BillingFixture,
  openBillingFixture,
  report,
  search,
  syncFirst,
} from './api-bill-fixture.ts'

const reports = ({ sandbox }: BillingFixture) =>
  [...sandbox.checks.all()].filter(({ kind }) => kind === 'car_history')

/** Asks for a report at the source, as somebody at another desk does. */
async function runElsewhere({ sandbox }: BillingFixture): Promise<Response> {
  const { value } = Object.values(sandbox.clientConfig().keys)[0]!
  const headers = {
    authorization: value,
    'X-Dealer-Id': 'rooftop-1',
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ evalid: 1001 })
  return await fetch(`${sandbox.baseUrl}/carhistory`, { method: 'POST', headers, body })
}

test('a report that is running already is waited for: one report, and nothing billed to us', async () => {
  await using office = await openBillingFixture({
    budget: { carHistory: 1 },
    limits: { carHistoryMs: 5000 },
  })
  await runInProcess(['sync', 'users', 'evaluations'], office)

  const elsewhere = runElsewhere(office)
  const { code, stdout, stderr } = await runInProcess(report, office)

  expect((await elsewhere).status).toBe(200)
  expect(code).toBe(0)
  expect(stderr).toContain('a report is running for this evaluation: nothing was billed')
  const [only, ...others] = reports(office)
  expect(others).toEqual([])
  expect(JSON.parse(stdout)).toMatchObject({ ID: only!.id, SearchNumber: only!.searchNumber })
  expect(await office.bills()).toEqual([['carhistory', '1001', 'released', 429]])
  expect(await office.query('select check_ref, check_kind from core.vehicle_check')).toEqual([
    { check_ref: String(only!.id), check_kind: 'car_history' },
  ])
})

test.each([
  ['ppsrsearch', search(), { ppsrPerDay: 0 }],
  ['carhistory', report, { carHistoryPerDay: 0 }],
] as const)(
  'the daily throttle of %s costs nothing, and says until when',
  async (name, args, limits) => {
    await using office = await openBillingFixture({
      budget: { ppsrSearch: 1, carHistory: 1 },
      limits,
    })

    const { code, stderr } = await runInProcess(args, office)

    expect(code).toBe(1)
    expect(stderr).toContain(`the source takes no more ${name} until tomorrow`)
    expect(await office.bills()).toEqual([[name, '1001', 'released', 429]])
    expect(office.sandbox.requests.count(`/${name}`)).toBe(1)
  },
)

test('a report that fails at the source, as documented, was not billed', async () => {
  await using office = await openBillingFixture({ budget: { carHistory: 1 } })
  office.sandbox.faults.add({
    match: { path: '/carhistory' },
    fault: { kind: 'status', status: 500, body: { error: 'Failed to get vehicle history' } },
  })

  const { code } = await runInProcess(report, office)

  expect(code).toBe(1)
  expect(await office.bills()).toEqual([['carhistory', '1001', 'released', 500]])
  expect(office.sandbox.requests.count('/getpastcarhistory')).toBe(1)
})

test('a 500 that does not say so is looked into, and the report that was made all the same is found', async () => {
  await using office = await openBillingFixture({ budget: { carHistory: 1 } })
  await syncFirst(office)
  office.sandbox.faults.add({
    match: { path: '/carhistory' },
    fault: { kind: 'status', status: 500, body: { error: 'upstream request failed' } },
  })

  const ended = runInProcess(report, office)
  await expect
    .poll(() => office.sandbox.requests.count('/getpastcarhistory'), { timeout: 20_000 })
    .toBe(2)
  const { rooftopUid, evalId, vin } = anEvaluation()
  const { groupId } = office.sandbox.world.rooftop(rooftopUid)!
  const searchedAt = office.sandbox.clock.now()
  office.sandbox.checks.add({
    ...{ kind: 'car_history', groupId, rooftopUid, evalId },
    ...{ vin: vin!, searchedAt },
  })
  const { code, stdout } = await ended

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ SearchNumber: expect.anything() })
  expect(await office.bills()).toEqual([['carhistory', '1001', 'committed', 500]])
})

test('a report whose answer is lost is found, and so is what the rooftop has left open of another operation', async () => {
  await using office = await openBillingFixture({ budget: { carHistory: 1 } })
  await runInProcess(['sync', 'users', 'evaluations'], office)
  const { rooftopUid, evalId, vin } = anEvaluation()
  const { groupId } = office.sandbox.world.rooftop(rooftopUid)!
  const searchedAt = office.sandbox.clock.now()
  office.sandbox.checks.add({
    ...{ kind: 'ppsr', groupId, rooftopUid, evalId },
    vin: vin!,
    searchedAt,
  })
  await office.query(`insert into ops.billable_call
    (operation, budget, rooftop_id, natural_key, day, state, requested_by, known_refs)
    select 'ppsrsearch', 'ppsrSearch', rooftop_id, '1001', '2026-03-01', 'reserved', 'tester@here', '{}' from core.rooftop`)
  office.lose('/carhistory')

  const { code, stdout } = await runInProcess(report, office)

  expect(code).toBe(0)
  const [ppsr, history] = [...office.sandbox.checks.all()].map(({ id }) => String(id))
  expect(JSON.parse(stdout)).toMatchObject({ ID: Number(history) })
  expect(
    await office.query(
      'select operation, state, check_ref from ops.billable_call order by call_id',
    ),
  ).toEqual([
    { operation: 'ppsrsearch', state: 'committed', check_ref: ppsr },
    { operation: 'carhistory', state: 'committed', check_ref: history },
  ])
  expect(await office.query('select check_ref from core.vehicle_check order by check_ref')).toEqual(
    [{ check_ref: ppsr }, { check_ref: history }],
  )
  expect(reports(office)).toHaveLength(1)
})
