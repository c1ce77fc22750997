import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { ConfigInput } from '#src/config.ts'
import { anEvaluation, worldOf } from '#src/sandbox/build-world.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { startForecourt } from '../support/child.ts'
import { runCli, runInProcess } from '../support/cli.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Office extends AsyncDisposable {
  readonly cwd: string
  readonly sandbox: Sandbox
  readonly database: TestDatabase
  /** Operation, state and status of every billable call, in order. */
  bills(): Promise<unknown[]>
}

/** A sandbox with evaluation 1001, and 1002 without a VIN; a warehouse; a config with these budgets. */
async function openOffice(budget: NonNullable<ConfigInput['budget']>): Promise<Office> {
  const evaluations = [anEvaluation(), anEvaluation({ evalId: 1002, vin: null })]
  const sandbox = await startSandbox({ world: worldOf({ evaluations }) })
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const config = { ...sandbox.clientConfig(), warehouse: { url: database.url }, budget }
  await writeFile(join(folder.path, 'forecourt.yaml'), stringify(config))
  return {
    cwd: folder.path,
    sandbox,
    database,
    bills: async () => {
      const { rows } = await database.pool.query(
        'select operation, natural_key, state, http_status from ops.billable_call order by call_id',
      )
      return rows.map((row) => Object.values(row))
    },
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const search = (evalid = 1001) => ['api', 'ppsrsearch', '--evalid', String(evalid), '--yes']

test('without a budget nothing that costs money is sent', async () => {
  await using office = await openOffice({})

  const { code, stderr } = await runInProcess(search(), office)

  expect(code).toBe(2)
  expect(stderr).toContain('budget.ppsrSearch is 0')
  expect([office.sandbox.requests.count(), await office.bills()]).toEqual([0, []])
})

test('a call is committed with its answer, and the next one is beyond the budget', async () => {
  await using office = await openOffice({ ppsrSearch: 1 })

  const first = await runInProcess(search(), office)
  const second = await runInProcess(search(), office)

  expect([first.code, second.code]).toEqual([0, 2])
  expect(JSON.parse(first.stdout)).toMatchObject({ CertificateNumber: expect.anything() })
  expect(second.stderr).toContain('budget.ppsrSearch allows 1 calls a day, and 1 are used today')
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
  expect(office.sandbox.requests.count('/ppsrsearch')).toBe(1)
})

test('a documented refusal costs nothing, and its place in the budget is free again', async () => {
  await using office = await openOffice({ ppsrSearch: 1 })

  const refused = await runInProcess(search(1002), office)
  const searched = await runInProcess(search(), office)

  expect([refused.code, searched.code]).toEqual([1, 0])
  expect(refused.stderr).toContain('answered 400')
  expect(await office.bills()).toEqual([
    ['ppsrsearch', '1002', 'released', 400],
    ['ppsrsearch', '1001', 'committed', 200],
  ])
})

test('a call that was cut off is not sent again, and stays reserved', async () => {
  await using office = await openOffice({ ppsrSearch: 1 })
  office.sandbox.faults.add({ match: { path: '/ppsrsearch' }, fault: { kind: 'reset' } })

  const cut = await runInProcess(search(), office)
  const next = await runInProcess(search(), office)

  expect([cut.code, next.code]).toEqual([1, 2])
  expect(cut.stderr).toContain('It was not repeated, since it may have taken effect')
  expect(cut.stderr).toContain('it stays reserved in ops.billable_call')
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
  expect(office.sandbox.requests.count('/ppsrsearch')).toBe(1)
})

test('a process that is killed between reserve and answer leaves its reservation', async () => {
  await using office = await openOffice({ ppsrSearch: 1 })
  office.sandbox.faults.add({ match: { path: '/ppsrsearch' }, fault: { kind: 'slow', ms: 60_000 } })

  const child = startForecourt(search(), { cwd: office.cwd })
  await expect.poll(office.bills, { timeout: 20_000 }).toHaveLength(1)
  child.kill('SIGKILL')
  await child.ended
  office.sandbox.faults.clear()
  const { code } = await runInProcess(search(), office)

  expect(code).toBe(2)
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'reserved', null]])
})

test('of eight processes that race for the last call, exactly one wins', async () => {
  await using office = await openOffice({ ppsrSearch: 1 })

  const racers = await Promise.all(Array.from({ length: 8 }, () => runCli(search(), office)))

  expect(racers.map(({ code }) => code).sort()).toEqual([0, 2, 2, 2, 2, 2, 2, 2])
  expect(await office.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
})

test('the vehicle-data APIs bill from budgets of their own, with the VIN as the subject', async () => {
  await using office = await openOffice({ historyCheck: 1, prediction: 1 })
  const vin = 'SAMPLEAU000000001'

  const history = await runInProcess(['api', 'historyCheck', '--vin', vin, '--yes'], office)
  const predict = ['api', 'prediction', '--vin', vin, '--km', '9000', '--reasoning', '--yes']
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
})

test('a repeat after an unknown outcome is warned of', async () => {
  await using office = await openOffice({ ppsrSearch: 2 })
  office.sandbox.faults.add({ match: { path: '/ppsrsearch' }, times: 1, fault: { kind: 'reset' } })
  await runInProcess(search(), office)

  const { code, stderr } = await runInProcess(search(), office)

  expect(code).toBe(0)
  expect(stderr).toContain('an earlier ppsrsearch for 1001 has an unknown outcome')
})

test('status shows what was spent today, by whom and on which vehicle', async () => {
  await using office = await openOffice({ ppsrSearch: 2, historyCheck: 1 })
  await runInProcess(['sync'], office)
  await runInProcess(search(), office)
  office.sandbox.faults.add({ match: { path: '/ppsrsearch' }, fault: { kind: 'reset' } })
  await runInProcess(search(), office)

  const { stdout } = await runInProcess(['--json', 'status'], office)
  const { stdout: text } = await runInProcess(['status'], office)

  const call = {
    operation: 'ppsrsearch',
    subject: '1001',
    vin: anEvaluation().vin,
    rooftop: 'rooftop-1',
    by: expect.stringContaining('@'),
    at: expect.stringMatching(/^\d{4}-/),
  }
  expect(JSON.parse(stdout).spend).toEqual({
    ppsrSearch: {
      allowed: 2,
      used: 2,
      unknown: 1,
      calls: [
        { ...call, state: 'reserved' },
        { ...call, state: 'committed' },
      ],
    },
    historyCheck: { allowed: 1, used: 0, unknown: 0, calls: [] },
  })
  expect(text).toContain('budget.ppsrSearch: 2 of 2 calls, 1 of them with an unknown outcome')
})
