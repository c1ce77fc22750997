import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { startForecourt } from '../../support/child.ts'
import { runInProcess } from '../../support/cli.ts'
import {
  type BillingFixture,
  openBillingFixture,
  report,
  search,
  syncFirst,
} from './api-bill-fixture.ts'

// The outcome of a call without an answer is found by reading, never by paying again.

const vin = 'SAMPLEAU000000001'
const past = '/getpastppsrsearch'
/** Longer than a call of an ended process may run. */
const waitOut = 13 * 60_000
/** Starts the search in a separate process, and kills it when the condition is true. */
async function killWhen(fixture: BillingFixture, condition: () => unknown, expected: unknown) {
  const child = startForecourt(search(), { cwd: fixture.cwd })
  await expect.poll(condition, { timeout: 45_000 }).toEqual(expected)
  child.kill('SIGKILL')
  await child.ended
}

const searches = ({ sandbox }: BillingFixture) => sandbox.requests.count('/ppsrsearch')
const loadedChecks = (fixture: BillingFixture) =>
  fixture.query('select check_ref, check_kind, vin, watch_status from core.vehicle_check')

test('a search made before its process was killed is the answer of a repeat: billed once, and in the warehouse', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(fixture)
  fixture.lose('/ppsrsearch', 'held')
  await killWhen(fixture, () => searches(fixture), 1)
  fixture.lose(null)

  const { code, stdout, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(0)
  expect(stderr).toContain('an earlier call took effect')
  expect(stderr).toContain('--again pays for another one')
  const [made] = fixture.sandbox.checks.all()
  expect(JSON.parse(stdout)).toMatchObject({ ID: made!.id, WatchStatus: 'watching' })
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(fixture)).toBe(1)
  const [call] = await fixture.query<{ check_ref: string }>(
    'select check_ref from ops.billable_call',
  )
  expect(await loadedChecks(fixture)).toMatchObject([
    { check_ref: call!.check_ref, check_kind: 'ppsr' },
  ])
  expect(await fixture.query('select 1 from pii.signed_link')).toHaveLength(1)
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
    await using fixture = await openBillingFixture({ budget: { ppsrSearch: 5, carHistory: 1 } })
    await syncFirst(fixture)
    fixture.lose('/ppsrsearch', 'held')
    await killWhen(fixture, () => searches(fixture), 1)
    fixture.lose(null)
    const finder = await runInProcess(other, fixture)
    const before = searches(fixture)

    const repeat = await runInProcess(search(), fixture)
    const after = searches(fixture)
    const refused = await runInProcess(search(), fixture)
    const another = await runInProcess([...search(), '--again'], fixture)

    expect([finder.code, repeat.code, refused.code, another.code]).toEqual([left, 0, 2, 0])
    expect(repeat.stderr).toContain('nothing was sent')
    expect([after - before, searches(fixture) - after]).toEqual([0, 1])
    expect([...fixture.sandbox.checks.all()].filter(({ kind }) => kind === 'ppsr')).toHaveLength(2)
  },
)

test('with --again a search is paid although an earlier one took effect', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(fixture)
  fixture.lose('/ppsrsearch', 'held')
  await killWhen(fixture, () => searches(fixture), 1)
  fixture.lose(null)

  const { code } = await runInProcess([...search(), '--again'], fixture)

  expect([code, searches(fixture)]).toEqual([0, 2])
})

/** Waits until the source has the request, which it ignores: otherwise the fault would hit the next process. */
async function killBeforeSearch(fixture: BillingFixture) {
  const slow = fixture.sandbox.faults.add({
    ...{ match: { path: '/ppsrsearch' }, times: 1 },
    fault: { kind: 'slow', ms: 600_000 },
  })
  await killWhen(fixture, () => slow.hits, 1)
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
}

test('a search not made before its process was killed is released, and no longer counts in the budget', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  await killBeforeSearch(fixture)

  // Later than our own time-out; then only at the source, whose clock may have jumped.
  await fixture.pass(5 * 60_000)
  const early = await runInProcess(search(), fixture)
  fixture.sandbox.clock.advance(waitOut)
  const jumped = await runInProcess(search(), fixture)
  await fixture.pass(waitOut)
  const late = await runInProcess(search(), fixture)

  // The earlier call might still run, so nothing was sent.
  expect([early.code, jumped.code]).toEqual([2, 2])
  expect(early.stderr).toContain('may still be running')
  expect(late.code).toBe(0)
  expect(late.stderr).toContain('an earlier call had no effect')
  expect(await fixture.bills()).toEqual([
    ['ppsrsearch', '1001', 'released', null],
    ['ppsrsearch', '1001', 'committed', 200],
  ])
})

test('with budget left, a repeat of a call that may still run is refused, and --again pays for it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 2 } })
  await syncFirst(fixture)
  await killBeforeSearch(fixture)

  const refused = await runInProcess(search(), fixture)
  const again = await runInProcess([...search(), '--again'], fixture)

  expect([refused.code, again.code]).toEqual([2, 0])
  expect(refused.stderr).toContain('--again sends it although it may cost twice')
  expect(searches(fixture)).toBe(1)
})

test('a lost answer is found by the process that waits for it', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  fixture.lose('/ppsrsearch')

  const { code, stdout, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(0)
  expect(stderr).toContain('the answer is the check from the past checks')
  expect(JSON.parse(stdout)).toMatchObject({ ID: expect.anything(), WatchStatus: 'watching' })
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(fixture)).toBe(1)
})

test('a call without effect whose connection was cut is released when it can no longer run', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  fixture.sandbox.faults.add({ match: { path: '/ppsrsearch' }, times: 1, fault: { kind: 'reset' } })

  const cut = runInProcess(search(), fixture)
  // One list before the call, one search after it.
  await expect.poll(() => fixture.sandbox.requests.count(past), { timeout: 45_000 }).toBe(2)
  await fixture.pass(waitOut)
  const { code, stderr } = await cut

  expect(code).toBe(1)
  expect(stderr).toContain('It took no effect: no past check is new, so nothing was billed.')
  expect(stderr).not.toContain('may have taken effect')
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'released', null]])
  expect(searches(fixture)).toBe(1)
})

test.each(
  someOf(
    [
      ['an undocumented 502', { kind: 'status', status: 502 }, 502, 'released'],
      ['half an answer', { kind: 'truncate' }, 200, 'committed'],
    ] as const,
    1,
  ),
)('%s is checked as well', async (_, fault, status, state) => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  fixture.sandbox.faults.add({ match: { path: '/ppsrsearch' }, fault })

  const ended = runInProcess(search(), fixture)
  await expect.poll(() => fixture.sandbox.requests.count(past), { timeout: 45_000 }).toBe(2)
  await fixture.pass(waitOut)
  const { code } = await ended

  expect(code).toBe(state === 'committed' ? 0 : 1)
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', state, status]])
})

test('a call of another living process is not touched', { tags: 'ci' }, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 2 } })
  await syncFirst(fixture)
  fixture.lose('/ppsrsearch', 'held')
  const child = startForecourt(search(), { cwd: fixture.cwd })
  await expect.poll(() => searches(fixture), { timeout: 45_000 }).toBe(1)
  fixture.lose(null)
  await fixture.pass(waitOut)

  const { code, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(3)
  expect(stderr).toContain('by another process')
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
  child.kill('SIGKILL')
  await child.ended
  const after = await runInProcess(search(), fixture)
  expect(after.code).toBe(0)
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(fixture)).toBe(1)
})

test('an answer that was stored and not shown is the answer of a repeat', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(fixture)
  const paid = await runInProcess(search(), fixture)
  // As a crash between the two leaves it.
  await fixture.query('update ops.billable_call set shown_at = null')

  const repeat = await runInProcess(search(), fixture)
  const refused = await runInProcess(search(), fixture)

  expect([paid.code, repeat.code, refused.code]).toEqual([0, 0, 2])
  expect(JSON.parse(repeat.stdout).ID).toBe(JSON.parse(paid.stdout).ID)
  expect(searches(fixture)).toBe(1)
})

test('an answer that is about to be shown is shown by one process alone', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(fixture)
  await runInProcess(search(), fixture)
  await fixture.query('update ops.billable_call set shown_at = null')
  const payer = await fixture.database.pool.connect()

  // A process that lives has paid, and has not shown the answer yet.
  await payer.query('select pg_advisory_lock(7303, call_id::int) from ops.billable_call')
  const meanwhile = await runInProcess(search(), fixture)
  // It dies.
  await payer.query('select pg_advisory_unlock(7303, call_id::int) from ops.billable_call')
  payer.release()
  const repeats = await Promise.all(
    Array.from({ length: 3 }, () => runInProcess(search(), fixture)),
  )

  expect(meanwhile.code).toBe(2)
  expect(repeats.map(({ code }) => code).sort()).toEqual([0, 2, 2])
  expect(searches(fixture)).toBe(1)
})

test('an interrupted process logs that the call is open, and the next process settles it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 5 } })
  await syncFirst(fixture)
  fixture.lose('/ppsrsearch', 'held')
  const child = startForecourt(search(), { cwd: fixture.cwd })
  await expect.poll(() => searches(fixture), { timeout: 45_000 }).toBe(1)
  child.kill('SIGINT')
  const { code, stderr } = await child.ended
  fixture.lose(null)
  const left = await fixture.bills()

  const repeat = await runInProcess(search(), fixture)

  expect([code, repeat.code]).toEqual([130, 0])
  expect(stderr).toContain('the next billable call checks it first')
  expect(left).toEqual([['ppsrsearch', '1001', 'reserved', null]])
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', null]])
  expect(searches(fixture)).toBe(1)
})

test('when the source does not answer a read, nothing is paid', { tags: 'ci' }, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  fixture.sandbox.faults.add({ match: { path: past }, fault: { kind: 'status', status: 500 } })

  const { code, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(1)
  expect(stderr).toContain('No billable call was sent')
  expect([searches(fixture), await fixture.bills()]).toEqual([0, []])
})

test('a call that no operation lists stays unknown and counts; a repeat needs --again', async () => {
  await using fixture = await openBillingFixture({ budget: { historyCheck: 3 } })
  const path = '/historyCheck'
  fixture.sandbox.faults.add({ match: { path }, times: 1, fault: { kind: 'reset' } })
  const check = ['api', 'historyCheck', '--vin', vin, '--yes']

  const cut = await runInProcess(check, fixture)
  const refused = await runInProcess(check, fixture)
  const again = await runInProcess([...check, '--again'], fixture)
  const next = await runInProcess(check, fixture)

  expect([cut.code, refused.code, again.code, next.code]).toEqual([1, 2, 0, 2])
  expect(cut.stderr).toContain('it is unknown whether the call was billed')
  expect(refused.stderr).toContain('no operation lists past calls')
  expect((await fixture.bills())[0]).toEqual(['historyCheck', vin, 'reserved', null])
})
