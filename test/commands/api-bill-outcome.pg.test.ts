import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import { startForecourt } from '../support/child.ts'
import { runInProcess } from '../support/cli.ts'
import {
  type BillingFixture,
  openBillingFixture,
  report,
  search,
  syncFirst,
} from './api-bill-fixture.ts'

// What became of a call whose answer did not come is found out by reading, and never by paying again.

const vin = 'SAMPLEAU000000001'
const past = '/getpastppsrsearch'
/** Longer than a call whose process is gone may be at work. */
const waitOut = 13 * 60_000
/** Starts the search in a process of its own, and kills that when the condition holds. */
async function killWhen(office: BillingFixture, condition: () => unknown, expected: unknown) {
  const child = startForecourt(search(), { cwd: office.cwd })
  await expect.poll(condition, { timeout: 45_000 }).toEqual(expected)
  child.kill('SIGKILL')
  await child.ended
}

const searches = ({ sandbox }: BillingFixture) => sandbox.requests.count('/ppsrsearch')
const landed = (office: BillingFixture) =>
  office.query('select check_ref, check_kind, vin, watch_status from core.vehicle_check')

test('a search that was done before its process was killed is the answer to a repeat: billed once, and in the warehouse', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(office)
  office.lose('/ppsrsearch', 'held')
  await killWhen(office, () => searches(office), 1)
  office.lose(null)

  const { code, stdout, stderr } = await runInProcess(search(), office)

  expect(code).toBe(0)
  expect(stderr).toContain('an earlier call went through')
  expect(stderr).toContain('--again pays for another one')
  const [made] = office.sandbox.checks.all()
  expect(JSON.parse(stdout)).toMatchObject({ ID: made!.id, WatchStatus: 'watching' })
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(office)).toBe(1)
  const [call] = await office.query<{ check_ref: string }>(
    'select check_ref from ops.billable_call',
  )
  expect(await landed(office)).toMatchObject([{ check_ref: call!.check_ref, check_kind: 'ppsr' }])
  expect(await office.query('select 1 from pii.signed_link')).toHaveLength(1)
})

test.each(
  someOf(
    [
      ['a search of another vehicle', search(1002), 1],
      ['a report', report, 0],
    ] as const,
    1,
  ),
)(
  'a search that %s has found out is still the answer to a repeat, once',
  async (_, other, left) => {
    await using office = await openBillingFixture({ budget: { ppsrSearch: 5, carHistory: 1 } })
    await syncFirst(office)
    office.lose('/ppsrsearch', 'held')
    await killWhen(office, () => searches(office), 1)
    office.lose(null)
    const finder = await runInProcess(other, office)
    const before = searches(office)

    const repeat = await runInProcess(search(), office)
    const after = searches(office)
    const refused = await runInProcess(search(), office)
    const another = await runInProcess([...search(), '--again'], office)

    expect([finder.code, repeat.code, refused.code, another.code]).toEqual([left, 0, 2, 0])
    expect(repeat.stderr).toContain('nothing was sent')
    expect([after - before, searches(office) - after]).toEqual([0, 1])
    expect([...office.sandbox.checks.all()].filter(({ kind }) => kind === 'ppsr')).toHaveLength(2)
  },
)

test('with --again a search is paid for although an earlier one went through', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(office)
  office.lose('/ppsrsearch', 'held')
  await killWhen(office, () => searches(office), 1)
  office.lose(null)

  const { code } = await runInProcess([...search(), '--again'], office)

  expect([code, searches(office)]).toEqual([0, 2])
})

/** The source has the request and does nothing about it: killed sooner, the process would leave the fault to the next one. */
async function killBeforeSearch(office: BillingFixture) {
  const slow = office.sandbox.faults.add({
    ...{ match: { path: '/ppsrsearch' }, times: 1 },
    fault: { kind: 'slow', ms: 600_000 },
  })
  await killWhen(office, () => slow.hits, 1)
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
}

test('a search that was not done before its process was killed is released, and the budget is free again', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)
  await killBeforeSearch(office)

  // Later than our own patience; then at the source alone, whose clock may have jumped.
  await office.pass(5 * 60_000)
  const early = await runInProcess(search(), office)
  office.sandbox.clock.advance(waitOut)
  const jumped = await runInProcess(search(), office)
  await office.pass(waitOut)
  const late = await runInProcess(search(), office)

  // It might have been running still: nothing was sent.
  expect([early.code, jumped.code]).toEqual([2, 2])
  expect(early.stderr).toContain('may still be running')
  expect(late.code).toBe(0)
  expect(late.stderr).toContain('an earlier call has left no trace')
  expect(await office.bills()).toEqual([
    ['ppsrsearch', '1001', 'released', null],
    ['ppsrsearch', '1001', 'committed', 200],
  ])
})

test('with budget left, a repeat of what may be running still is refused, and --again pays knowingly', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 2 } })
  await syncFirst(office)
  await killBeforeSearch(office)

  const refused = await runInProcess(search(), office)
  const again = await runInProcess([...search(), '--again'], office)

  expect([refused.code, again.code]).toEqual([2, 0])
  expect(refused.stderr).toContain('--again sends it although it may cost twice')
  expect(searches(office)).toBe(1)
})

test('an answer that is lost on its way is found by the process that waits for it', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)
  office.lose('/ppsrsearch')

  const { code, stdout, stderr } = await runInProcess(search(), office)

  expect(code).toBe(0)
  expect(stderr).toContain('here is the check as the past checks show it')
  expect(JSON.parse(stdout)).toMatchObject({ ID: expect.anything(), WatchStatus: 'watching' })
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(office)).toBe(1)
})

test('a call that was cut off and did nothing is released once it can no longer be running', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  office.sandbox.faults.add({ match: { path: '/ppsrsearch' }, times: 1, fault: { kind: 'reset' } })

  const cut = runInProcess(search(), office)
  // One list from before, one look after.
  await expect.poll(() => office.sandbox.requests.count(past), { timeout: 45_000 }).toBe(2)
  await office.pass(waitOut)
  const { code, stderr } = await cut

  expect(code).toBe(1)
  expect(stderr).toContain('It took no effect: no past check is new, so nothing was billed.')
  expect(stderr).not.toContain('may have taken effect')
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'released', null]])
  expect(searches(office)).toBe(1)
})

test.each(
  someOf(
    [
      ['an undocumented 502', { kind: 'status', status: 502 }, 502, 'released'],
      ['half an answer', { kind: 'truncate' }, 200, 'committed'],
    ] as const,
    1,
  ),
)('%s is looked into as well', async (_, fault, status, state) => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)
  office.sandbox.faults.add({ match: { path: '/ppsrsearch' }, fault })

  const ended = runInProcess(search(), office)
  await expect.poll(() => office.sandbox.requests.count(past), { timeout: 45_000 }).toBe(2)
  await office.pass(waitOut)
  const { code } = await ended

  expect(code).toBe(state === 'committed' ? 0 : 1)
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', state, status]])
})

test('what another living process is in the middle of is left alone', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 2 } })
  await syncFirst(office)
  office.lose('/ppsrsearch', 'held')
  const child = startForecourt(search(), { cwd: office.cwd })
  await expect.poll(() => searches(office), { timeout: 45_000 }).toBe(1)
  office.lose(null)
  await office.pass(waitOut)

  const { code, stderr } = await runInProcess(search(), office)

  expect(code).toBe(3)
  expect(stderr).toContain('by another process')
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
  child.kill('SIGKILL')
  await child.ended
  const after = await runInProcess(search(), office)
  expect(after.code).toBe(0)
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(office)).toBe(1)
})

test('a process that is interrupted in the middle says that the call is open, and the next one finds it', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(office)
  office.lose('/ppsrsearch', 'held')
  const child = startForecourt(search(), { cwd: office.cwd })
  await expect.poll(() => searches(office), { timeout: 45_000 }).toBe(1)
  child.kill('SIGINT')
  const { code, stderr } = await child.ended
  office.lose(null)
  const left = await office.bills()

  const repeat = await runInProcess(search(), office)

  expect([code, repeat.code]).toEqual([130, 0])
  expect(stderr).toContain('the next billable call finds out first')
  expect(left).toEqual([['ppsrsearch', '1001', 'reserved', null]])
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(office)).toBe(1)
})

test('a source that does not answer a read is paid for nothing', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  office.sandbox.faults.add({ match: { path: past }, fault: { kind: 'status', status: 500 } })

  const { code, stderr } = await runInProcess(search(), office)

  expect(code).toBe(1)
  expect(stderr).toContain('Nothing was sent that costs money')
  expect([searches(office), await office.bills()]).toEqual([0, []])
})

test('what nothing lists stays unknown and counts; a repeat takes --again', async () => {
  await using office = await openBillingFixture({ budget: { historyCheck: 3 } })
  const path = '/historyCheck'
  office.sandbox.faults.add({ match: { path }, times: 1, fault: { kind: 'reset' } })
  const check = ['api', 'historyCheck', '--vin', vin, '--yes']

  const cut = await runInProcess(check, office)
  const refused = await runInProcess(check, office)
  const again = await runInProcess([...check, '--again'], office)
  const next = await runInProcess(check, office)

  expect([cut.code, refused.code, again.code, next.code]).toEqual([1, 2, 0, 2])
  expect(cut.stderr).toContain('cannot be found out')
  expect(refused.stderr).toContain('nothing lists the past ones')
  expect((await office.bills())[0]).toEqual(['historyCheck', vin, 'reserved', null])
})
