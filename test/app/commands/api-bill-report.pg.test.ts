import { expect, test } from 'vitest'
import { anEvaluation } from '../../support/build-world.ts'
import { runInProcess } from '../../support/cli.ts'
import {
  type BillingFixture,
  openBillingFixture,
  report,
  search,
  syncFirst,
} from './api-bill-fixture.ts'

const reports = ({ sandbox }: BillingFixture) =>
  [...sandbox.checks.all()].filter(({ kind }) => kind === 'car_history')

/** Requests a report at the source, like another user. */
async function runByOtherUser({ sandbox }: BillingFixture): Promise<Response> {
  const { value } = Object.values(sandbox.clientConfig().keys)[0]!
  const headers = {
    authorization: value,
    'X-Dealer-Id': 'rooftop-1',
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ evalid: 1001 })
  return await fetch(`${sandbox.baseUrl}/carhistory`, { method: 'POST', headers, body })
}

test('a report that already runs is awaited: one report, and nothing billed to us', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({
    budget: { carHistory: 1 },
    limits: { carHistoryMs: 5000 },
  })
  await runInProcess(['sync', 'users', 'evaluations'], fixture)

  const other = runByOtherUser(fixture)
  const { code, stdout, stderr } = await runInProcess(report, fixture)

  expect((await other).status).toBe(200)
  expect(code).toBe(0)
  expect(stderr).toContain('a report is already running for this evaluation: nothing was billed')
  const [only, ...others] = reports(fixture)
  expect(others).toEqual([])
  expect(JSON.parse(stdout)).toMatchObject({ ID: only!.id, SearchNumber: only!.searchNumber })
  expect(await fixture.bills()).toEqual([['carhistory', '1001', 'released', 429]])
  expect(await fixture.query('select check_ref, check_kind from core.vehicle_check')).toEqual([
    { check_ref: String(only!.id), check_kind: 'car_history' },
  ])
})

test.each([
  ['ppsrsearch', search(), { ppsrPerDay: 0 }],
  ['carhistory', report, { carHistoryPerDay: 0 }],
] as const)(
  'the daily throttle of %s costs nothing, and says until when',
  async (name, args, limits) => {
    await using fixture = await openBillingFixture({
      budget: { ppsrSearch: 1, carHistory: 1 },
      limits,
    })

    const { code, stderr } = await runInProcess(args, fixture)

    expect(code).toBe(1)
    expect(stderr).toContain(`the source accepts no more ${name} until tomorrow`)
    expect(await fixture.bills()).toEqual([[name, '1001', 'released', 429]])
    expect(fixture.sandbox.requests.count(`/${name}`)).toBe(1)
  },
)

test('a report that fails at the source, as documented, was not billed', async () => {
  await using fixture = await openBillingFixture({ budget: { carHistory: 1 } })
  fixture.sandbox.faults.add({
    match: { path: '/carhistory' },
    fault: { kind: 'status', status: 500, body: { error: 'Failed to get vehicle history' } },
  })

  const { code } = await runInProcess(report, fixture)

  expect(code).toBe(1)
  expect(await fixture.bills()).toEqual([['carhistory', '1001', 'released', 500]])
  expect(fixture.sandbox.requests.count('/getpastcarhistory')).toBe(1)
})

test('after a 500 without the documented text, the report that was made is found', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { carHistory: 1 } })
  await syncFirst(fixture)
  fixture.sandbox.faults.add({
    match: { path: '/carhistory' },
    fault: { kind: 'status', status: 500, body: { error: 'upstream request failed' } },
  })

  const ended = runInProcess(report, fixture)
  await expect.poll(() => fixture.sandbox.requests.count('/getpastcarhistory')).toBe(2)
  const { rooftopUid, evalId, vin } = anEvaluation()
  const { groupId } = fixture.sandbox.world.rooftop(rooftopUid)!
  const searchedAt = fixture.sandbox.clock.now()
  fixture.sandbox.checks.add({
    ...{ kind: 'car_history', groupId, rooftopUid, evalId },
    ...{ vin: vin!, searchedAt },
  })
  const { code, stdout } = await ended

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ SearchNumber: expect.anything() })
  expect(await fixture.bills()).toEqual([['carhistory', '1001', 'committed', 500]])
})

test('a report whose answer is lost is found, and so are open calls of the rooftop for another operation', async () => {
  await using fixture = await openBillingFixture({ budget: { carHistory: 1 } })
  await runInProcess(['sync', 'users', 'evaluations'], fixture)
  const { rooftopUid, evalId, vin } = anEvaluation()
  const { groupId } = fixture.sandbox.world.rooftop(rooftopUid)!
  const searchedAt = fixture.sandbox.clock.now()
  fixture.sandbox.checks.add({
    ...{ kind: 'ppsr', groupId, rooftopUid, evalId },
    vin: vin!,
    searchedAt,
  })
  await fixture.query(`insert into ops.billable_call
    (operation, budget, rooftop_id, natural_key, day, state, requested_by, known_refs)
    select 'ppsrsearch', 'ppsrSearch', rooftop_id, '1001', '2026-03-01', 'reserved', 'tester@here', '{}' from core.rooftop`)
  fixture.lose('/carhistory')

  const { code, stdout } = await runInProcess(report, fixture)

  expect(code).toBe(0)
  const [ppsr, history] = [...fixture.sandbox.checks.all()].map(({ id }) => String(id))
  expect(JSON.parse(stdout)).toMatchObject({ ID: Number(history) })
  expect(
    await fixture.query(
      'select operation, state, check_ref from ops.billable_call order by call_id',
    ),
  ).toEqual([
    { operation: 'ppsrsearch', state: 'committed', check_ref: ppsr },
    { operation: 'carhistory', state: 'committed', check_ref: history },
  ])
  expect(
    await fixture.query('select check_ref from core.vehicle_check order by check_ref'),
  ).toEqual([{ check_ref: ppsr }, { check_ref: history }])
  expect(reports(fixture)).toHaveLength(1)
})
