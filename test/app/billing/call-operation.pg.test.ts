import { expect, test } from 'vitest'
import { searchPpsr } from '#src/api/contract/appraisal/checks.ts'
import { getEvaluation } from '#src/api/contract/appraisal/evaluations.ts'
import { type Caller, callOperation, type OperationCall } from '#src/app/billing/call-operation.ts'
import { loadConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { openWarehouse } from '#src/warehouse/warehouse.ts'
import { type BillingFixture, openBillingFixture, syncFirst } from '../commands/api-bill-fixture.ts'

interface Called {
  readonly shown: readonly unknown[]
  readonly opened: number
}

/** Calls as a program does, without a command line; rejects as the call does. */
async function call(fixture: BillingFixture, request: Partial<OperationCall>): Promise<Called> {
  const config = loadConfig(undefined, { variables: {}, cwd: fixture.cwd })
  const log = openLog({ level: 'error', human: false, secrets: [], write: () => {} })
  await using warehouse = await openWarehouse(config, log, 'write')
  const shown: unknown[] = []
  let opened = 0
  const caller: Caller = {
    ...{ config, log, signal: new AbortController().signal, onProgress: () => {} },
    requestedBy: 'a person of the console',
    openWarehouse: async () => {
      opened += 1
      return warehouse
    },
    show: (answer) => shown.push(answer),
  }
  await callOperation(caller, {
    ...{ operation: searchPpsr, fields: { evalid: 1001 }, files: [], again: false, wait: null },
    rooftop: config.rooftops[0]!,
    ...request,
  })
  return { shown, opened }
}

const refs = (fixture: BillingFixture) =>
  fixture.query('select check_ref from core.vehicle_check order by 1')

test('a program pays without a command line: the check is shown once and is in the warehouse', async () => {
  await using fixture = await openBillingFixture({ budget: { ppsrSearch: 2 } })
  await syncFirst(fixture)

  const { shown, opened } = await call(fixture, {})

  expect(shown).toHaveLength(1)
  expect(opened).toBe(1)
  expect(await refs(fixture)).toHaveLength(1)
  expect(await fixture.bills()).toEqual([['ppsrsearch', '1001', 'committed', 200]])
  expect(await fixture.query('select requested_by from ops.billable_call')).toEqual([
    { requested_by: 'a person of the console' },
  ])
  await expect(call(fixture, {})).rejects.toThrow('is valid for 14 days: nothing was sent')
  await call(fixture, { again: true })
  await expect(call(fixture, { again: true })).rejects.toThrow('2 are used today')
})

test('a read opens no warehouse, and incomplete fields send nothing', async () => {
  await using fixture = await openBillingFixture({})
  const requests = fixture.sandbox.requests.count('/geteval')

  const { shown, opened } = await call(fixture, { operation: getEvaluation })

  expect(shown).toMatchObject([[{ EvalID: 1001 }]])
  expect(opened).toBe(0)
  expect(fixture.sandbox.requests.count('/geteval')).toBe(requests + 1)
  await expect(call(fixture, { operation: getEvaluation, fields: {} })).rejects.toThrow('evalid')
  expect(fixture.sandbox.requests.count('/geteval')).toBe(requests + 1)
})
