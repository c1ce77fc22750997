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

const { vin } = anEvaluation()
const checks = (office: BillingFixture) =>
  office.query(`select check_ref, vin, certificate_number, security_interest_count, written_off_count, stolen_count,
    watch_status, run_id from core.vehicle_check order by check_kind desc`)

test('a search is in the warehouse when the command returns: check, counts, status, link, answer, run', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)

  const { code, stdout } = await runInProcess(search(), office)

  expect(code).toBe(0)
  const [made] = office.sandbox.checks.all()
  const [run] = await office.query<{ run_id: number }>(
    "select run_id, status from ops.run where command = 'api ppsrsearch'",
  )
  expect(run).toMatchObject({ status: 'ok' })
  expect(await checks(office)).toEqual([
    {
      ...{ check_ref: String(made!.id), vin, certificate_number: made!.certificateNumber },
      security_interest_count: made!.counts.securityInterests,
      written_off_count: made!.counts.writeOffs,
      stolen_count: made!.counts.stolen,
      ...{ watch_status: 'watching', run_id: run!.run_id },
    },
  ])
  expect(await office.query('select to_status from core.watch_status_change')).toEqual([
    { to_status: 'watching' },
  ])
  expect(await office.query('select link_kind, link_ref from pii.signed_link')).toEqual([
    { link_kind: 'ppsr_pdf', link_ref: String(made!.id) },
  ])
  const kept = await office.query(
    "select natural_key, body, run_id from raw.payload where endpoint = 'ppsrsearch'",
  )
  expect(kept).toEqual([{ natural_key: '1001', body: JSON.parse(stdout), run_id: run!.run_id }])
})

test('a report is in the warehouse when the command returns', async () => {
  await using office = await openBillingFixture({ budget: { carHistory: 1 } })
  await syncFirst(office)

  const { code } = await runInProcess(report, office)

  expect(code).toBe(0)
  const [made] = office.sandbox.checks.all()
  expect(await checks(office)).toMatchObject([{ check_ref: String(made!.id), vin }])
  expect(await office.query('select check_ref from ops.billable_call')).toEqual([
    { check_ref: String(made!.id) },
  ])
})

test('a search on an evaluation that is not in the warehouse yet is shown and kept, and lands with a sync', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 3 } })

  const { code, stdout, stderr } = await runInProcess(search(), office)
  const repeats = [await runInProcess(search(), office), await runInProcess(search(), office)]

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(stderr).toContain('the warehouse does not have evaluation 1001')
  expect(stderr).toContain(
    'the first \\"forecourt sync\\" after the evaluation is complete loads its row',
  )
  expect(repeats.map((repeat) => repeat.code)).toEqual([2, 2])
  expect(repeats[1]!.stderr).toContain('forecourt api getpastppsrsearch --evalid 1001')
  expect(office.sandbox.requests.count('/ppsrsearch')).toBe(1)
  expect(await checks(office)).toEqual([])
  expect(await office.query('select endpoint from raw.payload')).toEqual([
    { endpoint: 'ppsrsearch' },
  ])

  // The warehouse learns of the search with the evaluation, and of its counts from the answer that was kept.
  await runInProcess(['sync', 'users', 'evaluations', 'vehicle-checks'], office)
  const [made] = office.sandbox.checks.all()
  expect(await checks(office)).toMatchObject([
    {
      ...{ check_ref: String(made!.id), certificate_number: made!.certificateNumber },
      security_interest_count: made!.counts.securityInterests,
      written_off_count: made!.counts.writeOffs,
      stolen_count: made!.counts.stolen,
    },
  ])
})

test('a search does not land on a VIN that the evaluation has no more: shown, and exit 0', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)
  await office.query("update core.evaluation set vin = 'SAMPLEAU000000009'")

  const { code, stdout, stderr } = await runInProcess(search(), office)

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(stderr).toContain('the VIN of evaluation 1001 is another one at the source by now')
  expect(await checks(office)).toEqual([])
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
})

test('a search that shows that a watch has moved makes the list of reports due', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  const { rooftopUid, evalId } = anEvaluation()
  const { groupId } = office.sandbox.world.rooftop(rooftopUid)!
  const searchedAt = office.sandbox.clock.now()
  const changesAt = new Date(searchedAt.getTime() + 86_400_000)
  const about = { groupId, rooftopUid, evalId, vin: vin!, searchedAt }
  office.sandbox.checks.add({ kind: 'ppsr', watch: { isWatched: true, changesAt }, ...about })
  office.sandbox.checks.add({ kind: 'car_history', ...about })
  await runInProcess(['sync', 'users', 'evaluations', 'vehicle-checks'], office)
  office.sandbox.clock.advance(2 * 86_400_000)
  const due = () =>
    office.query("select ask from ops.enrichment_state where next_due_at = '-infinity'")
  const before = await due()

  const { code } = await runInProcess(search(), office)

  expect(code).toBe(0)
  expect([before, await due()]).toEqual([[], [{ ask: 'getpastcarhistory' }]])
})

test('an answer that does not land is shown, stays paid for, and is loaded by the next sync at any age', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)
  office.sandbox.faults.add({
    match: { path: '/getpastppsrsearch', nth: [2] },
    fault: { kind: 'status', status: 404 },
  })

  const { code, stdout, stderr } = await runInProcess(search(), office)

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(stderr).toContain('the next \\"forecourt sync\\" loads its row')
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
  expect(await checks(office)).toEqual([])

  // Long after checks.lookForNewDays, when nobody asks about the evaluation any more.
  office.sandbox.clock.advance(200 * 86_400_000)
  const asked = () => office.sandbox.requests.count('/getpastppsrsearch')
  const before = asked()
  await runInProcess(['sync', 'vehicle-checks'], office)
  const [made] = office.sandbox.checks.all()
  expect(await checks(office)).toMatchObject([{ check_ref: String(made!.id) }])
  await runInProcess(['sync', 'vehicle-checks'], office)
  expect(asked() - before).toBe(1)
})

test('the vehicle-data APIs leave their answers under the rooftop that was named, and nowhere without one', async () => {
  await using office = await openBillingFixture({ budget: { historyCheck: 2 } })
  const check = ['api', 'historyCheck', '--vin', 'SAMPLEAU000000001', '--yes']

  const without = await runInProcess(check, office)
  const withRooftop = await runInProcess([...check, '--rooftop', 'rooftop-1', '--again'], office)

  expect([without.code, withRooftop.code]).toEqual([0, 0])
  expect(without.stderr).toContain('the answer is kept nowhere')
  expect(await office.query('select endpoint, natural_key, body from raw.payload')).toEqual([
    {
      ...{ endpoint: 'historyCheck', natural_key: 'SAMPLEAU000000001' },
      body: JSON.parse(withRooftop.stdout),
    },
  ])
})

test('no line of the log holds a signed link', async () => {
  await using office = await openBillingFixture({ budget: { ppsrSearch: 1 } })
  await syncFirst(office)
  office.lose('/ppsrsearch')

  const { stdout, stderr } = await runInProcess(['--log-level', 'debug', ...search()], office)

  expect(stdout).toContain('signature=')
  expect(stderr).not.toContain('signature=')
})
