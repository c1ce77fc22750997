import { expect, test } from 'vitest'
import { anEvaluation } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { runInProcess } from '../../support/cli.ts'
import {
  type BillingFixture,
  openBillingFixture,
  report,
  search,
  syncFirst,
} from './api-bill-fixture.ts'

const { vin } = anEvaluation()
const checks = (fixture: BillingFixture) =>
  fixture.query(`select check_ref, vin, certificate_number, security_interest_count, written_off_count, stolen_count,
    watch_status, run_id from core.vehicle_check order by check_kind desc`)

test('a search is in the warehouse when the command returns: check, counts, status, link, answer, run', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)

  const { code, stdout } = await runInProcess(search(), fixture)

  expect(code).toBe(0)
  const [made] = fixture.sandbox.checks.all()
  const [run] = await fixture.query<{ run_id: number }>(
    "select run_id, status from ops.run where command = 'api ppsrsearch'",
  )
  expect(run).toMatchObject({ status: 'ok' })
  expect(await checks(fixture)).toEqual([
    {
      ...{ check_ref: String(made!.id), vin, certificate_number: made!.certificateNumber },
      security_interest_count: made!.counts.securityInterests,
      written_off_count: made!.counts.writeOffs,
      stolen_count: made!.counts.stolen,
      ...{ watch_status: 'watching', run_id: run!.run_id },
    },
  ])
  expect(await fixture.query('select to_status from core.watch_status_change')).toEqual([
    { to_status: 'watching' },
  ])
  expect(await fixture.query('select link_kind, link_ref from pii.signed_link')).toEqual([
    { link_kind: 'ppsr_pdf', link_ref: String(made!.id) },
  ])
  const stored = await fixture.query(
    "select natural_key, body, run_id from raw.payload where endpoint = 'ppsrsearch'",
  )
  expect(stored).toEqual([{ natural_key: '1001', body: JSON.parse(stdout), run_id: run!.run_id }])
})

test('a report is in the warehouse when the command returns', async () => {
  await using fixture = await openBillingFixture({ budget: { carHistory: 1 } })
  await syncFirst(fixture)

  const { code } = await runInProcess(report, fixture)

  expect(code).toBe(0)
  const [made] = fixture.sandbox.checks.all()
  expect(await checks(fixture)).toMatchObject([{ check_ref: String(made!.id), vin }])
  expect(await fixture.query('select check_ref from ops.billable_call')).toEqual([
    { check_ref: String(made!.id) },
  ])
})

test('a search on an evaluation that is not in the warehouse yet is shown and stored, and a sync loads it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 3 } })

  const { code, stdout, stderr } = await runInProcess(search(), fixture)
  const repeats = [await runInProcess(search(), fixture), await runInProcess(search(), fixture)]

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(stderr).toContain('the warehouse does not have evaluation 1001')
  expect(stderr).toContain(
    'the first \\"forecourt sync\\" after the evaluation is complete loads its row',
  )
  expect(repeats.map((repeat) => repeat.code)).toEqual([2, 2])
  expect(repeats[1]!.stderr).toContain('forecourt api getpastppsrsearch --evalid 1001')
  expect(fixture.sandbox.requests.count('/ppsrsearch')).toBe(1)
  expect(await checks(fixture)).toEqual([])
  expect(await fixture.query('select endpoint from raw.payload')).toEqual([
    { endpoint: 'ppsrsearch' },
  ])

  // The sync loads the search with the evaluation, and its counts from the stored answer.
  await runInProcess(['sync', 'users', 'evaluations', 'vehicle-checks'], fixture)
  const [made] = fixture.sandbox.checks.all()
  expect(await checks(fixture)).toMatchObject([
    {
      ...{ check_ref: String(made!.id), certificate_number: made!.certificateNumber },
      security_interest_count: made!.counts.securityInterests,
      written_off_count: made!.counts.writeOffs,
      stolen_count: made!.counts.stolen,
    },
  ])
})

test('when the VIN of the evaluation has changed, a search is shown but not loaded; exit 0', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  await fixture.query("update core.evaluation set vin = 'SAMPLEAU000000009'")

  const { code, stdout, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(stderr).toContain('the VIN of evaluation 1001 has changed at the source')
  expect(await checks(fixture)).toEqual([])
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
})

test('a search that shows a changed watch makes the list of reports due', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  const { rooftopUid, evalId } = anEvaluation()
  const { groupId } = fixture.sandbox.world.rooftop(rooftopUid)!
  const searchedAt = fixture.sandbox.clock.now()
  const changesAt = new Date(searchedAt.getTime() + 86_400_000)
  const about = { groupId, rooftopUid, evalId, vin: vin!, searchedAt }
  fixture.sandbox.checks.add({ kind: 'ppsr', watch: { isWatched: true, changesAt }, ...about })
  fixture.sandbox.checks.add({ kind: 'car_history', ...about })
  await runInProcess(['sync', 'users', 'evaluations', 'vehicle-checks'], fixture)
  fixture.sandbox.clock.advance(2 * 86_400_000)
  const due = () =>
    fixture.query("select ask from ops.enrichment_state where next_due_at = '-infinity'")
  const before = await due()

  const { code } = await runInProcess(search(), fixture)

  expect(code).toBe(0)
  expect([before, await due()]).toEqual([[], [{ ask: 'getpastcarhistory' }]])
})

test('an answer that cannot be loaded is shown, stays paid, and is loaded by the next sync at any age', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  fixture.sandbox.faults.add({
    match: { path: '/getpastppsrsearch', nth: [2] },
    fault: { kind: 'status', status: 404 },
  })

  const { code, stdout, stderr } = await runInProcess(search(), fixture)

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(stderr).toContain('the next \\"forecourt sync\\" loads its row')
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
  expect(await checks(fixture)).toEqual([])

  // Long after checks.lookForNewDays, when no run asks about the evaluation any more.
  fixture.sandbox.clock.advance(200 * 86_400_000)
  const asked = () => fixture.sandbox.requests.count('/getpastppsrsearch')
  const before = asked()
  await runInProcess(['sync', 'vehicle-checks'], fixture)
  const [made] = fixture.sandbox.checks.all()
  expect(await checks(fixture)).toMatchObject([{ check_ref: String(made!.id) }])
  await runInProcess(['sync', 'vehicle-checks'], fixture)
  expect(asked() - before).toBe(1)
})

test('answers of the vehicle-data APIs are stored under the named rooftop, and not without one', async () => {
  await using fixture = await openBillingFixture({ budget: { historyCheck: 2 } })
  const check = ['api', 'historyCheck', '--vin', 'SAMPLEAU000000001', '--yes']

  const without = await runInProcess(check, fixture)
  const withRooftop = await runInProcess([...check, '--rooftop', 'rooftop-1', '--again'], fixture)

  expect([without.code, withRooftop.code]).toEqual([0, 0])
  expect(without.stderr).toContain('the answer is not stored')
  expect(await fixture.query('select endpoint, natural_key, body from raw.payload')).toEqual([
    {
      ...{ endpoint: 'historyCheck', natural_key: 'SAMPLEAU000000001' },
      body: JSON.parse(withRooftop.stdout),
    },
  ])
})

test('no log line contains a signed link', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  fixture.lose('/ppsrsearch')

  const { stdout, stderr } = await runInProcess(['--log-level', 'debug', ...search()], fixture)

  expect(stdout).toContain('signature=')
  expect(stderr).not.toContain('signature=')
})

type Item = Record<string, unknown>
const withoutIds = ({ ID: _id, CertificateNumber: _number, ...rest }: Item) => rest
/** A check that a person made on the website in the same second. */
const ofWebsite = (item: Item) => ({ ...item, ID: 999_999, CertificateNumber: 'WEB' })
const asIs = (item: Item) => item

// [the answer of the call, the list after it, whether the check is recognised]
test.each(
  someOf(
    [
      ['only another check is listed', asIs, ([own]: Item[]) => [ofWebsite(own!)], false],
      ['no id, two new checks', withoutIds, ([own]: Item[]) => [ofWebsite(own!), own], false],
      ['an id, two new checks', asIs, ([own]: Item[]) => [ofWebsite(own!), own], true],
      ['no id, one new check', withoutIds, ([own]: Item[]) => [own], true],
    ] as const,
    2,
  ),
)('a paid search never takes the check of another call: %s', async (_, answer, list, isFound) => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(fixture)
  fixture.change('/ppsrsearch', (body) => answer(body as Item))
  fixture.change('/getpastppsrsearch', (body, nth) => (nth === 1 ? body : list(body as Item[])))

  const { code, stderr } = await runInProcess(search(), fixture)

  const [made] = fixture.sandbox.checks.all()
  const hasId = answer === asIs
  expect(code).toBe(0)
  expect(await fixture.query('select check_ref from ops.billable_call')).toEqual([
    { check_ref: isFound || hasId ? String(made!.id) : null },
  ])
  expect(stderr.includes('do not show yet which one it made')).toBe(!isFound)
  const counted = await fixture.query(
    'select check_ref from core.vehicle_check where security_interest_count is not null',
  )
  expect(counted).toEqual(isFound ? [{ check_ref: String(made!.id) }] : [])
})

test('without a list from before the call, an old check is not taken for the paid one', {
  tags: 'ci',
}, async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 2 } })
  await syncFirst(fixture)
  await runInProcess(search(), fixture)
  fixture.change('/ppsrsearch', (body) => withoutIds(body as Item))
  fixture.sandbox.faults.add({
    match: { path: '/getpastppsrsearch', nth: [1] },
    fault: { kind: 'status', status: 404 },
  })

  const { code, stderr } = await runInProcess([...search(), '--again'], fixture)

  expect(code).toBe(0)
  expect(stderr).toContain('do not show yet which one it made')
  const [first] = fixture.sandbox.checks.all()
  expect(await fixture.query('select check_ref from ops.billable_call order by call_id')).toEqual([
    { check_ref: String(first!.id) },
    { check_ref: null },
  ])
})
