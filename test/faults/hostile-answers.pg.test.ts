import { expect, test } from 'vitest'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-10T02:00:00Z')
const ids = [1001, 1002, 1003]

async function openWorld(more: readonly number[] = []): Promise<Fixture> {
  const evaluations = [...ids, ...more].map((evalId, nth) =>
    anEvaluation({ evalId, createdAt: new Date(now.getTime() - (nth + 1) * 3_600_000) }),
  )
  return await openFixture({ sandbox: { world: worldOf({ evaluations }), now } })
}

async function faults({ sandbox, database }: Fixture, quarantined: readonly number[] = []) {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  const expected = truth.filter(({ evalId }) => !quarantined.includes(evalId))
  return differences(expected, await warehouseTruth(database.pool, 'rooftop'))
}

/** Answers that the source may send instead of an evaluation: the first for 2001, and so on. */
const hostile: Readonly<Record<string, string>> = {
  'that breaks off': '[{"EvalID": 2001, "UpdatedAt": "2026-03',
  'with NaN for a price': '[{"EvalID": 2002, "FinalPrice": NaN}]',
  'of single quotes': "[{'EvalID': 2003}]",
  'with two documents': '[{"EvalID": 2004}][{"EvalID": 2004}]',
  'nested 100,000 deep': '['.repeat(100_000) + ']'.repeat(100_000),
  'that names its fields twice': '[{"EvalID": 2006, "EvalID": 1003}]',
  'of another evaluation': '[{"EvalID": 1003, "UpdatedAt": "2026-03-09T00:00:00Z"}]',
  'that is a number': '1002',
  'that is null': 'null',
  'of nulls': '[null]',
}

test(`answers ${Object.keys(hostile).join(', ')} are quarantined with their reasons, and no other record is affected`, async () => {
  const bad = Object.keys(hostile).map((_, nth) => 2001 + nth)
  await using fixture = await openWorld(bad)
  const { faults: plan } = fixture.sandbox
  for (const [nth, body] of Object.values(hostile).entries()) {
    const match = { path: '/geteval', evalId: bad[nth]! }
    plan.add({ match, fault: { kind: 'status', status: 200, body } })
  }

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(await faults(fixture, bad)).toEqual([])
  const { rows } = await fixture.database.pool.query(
    `select natural_key::int as id, jsonb_array_length(issues) > 0 as reasoned, resolved_at
     from ops.quarantine order by 1`,
  )
  expect(rows).toEqual(bad.map((id) => ({ id, reasoned: true, resolved_at: null })))
  plan.clear()
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
})

test('a list that names its evaluations twice, in another order every time, loads each once', async () => {
  await using fixture = await openWorld()
  const list = (order: readonly number[]) => order.map((EvalID) => ({ EvalID }))
  for (const [nth, order] of [
    [1, [1003, 1001, 1003, 1002, 1001]],
    [2, [1002, 1002, 1003, 1001]],
  ] as const)
    fixture.sandbox.faults.add({
      match: { path: '/getevallist', nth: [nth] },
      fault: { kind: 'status', status: 200, body: list(order) },
    })

  await fixture.night()
  const second = await fixture.night()

  expect(second.status).toBe('ok')
  expect(await faults(fixture)).toEqual([])
  const { rows } = await fixture.database.pool.query(
    'select eval_id::int as id, count(*)::int as versions from core.evaluation_version group by 1 order by 1',
  )
  expect(rows).toEqual(ids.map((id) => ({ id, versions: 1 })))
})

test('an unknown field is stored and reported, and a field of another type quarantines the record', async () => {
  await using fixture = await openWorld()
  const { world } = fixture.sandbox
  world.poison(1001, { TradeInBonus: 250 })
  world.poison(1002, { FinalPrice: { amount: 3 } })

  expect((await fixture.night()).status).toBe('partial')

  expect(await faults(fixture, [1002])).toEqual([])
  const { rows: drift } = await fixture.database.pool.query(
    `select json_path as path, classification as kind from ops.field_drift
     where classification <> 'documented' and json_path like '%TradeInBonus%'`,
  )
  expect(drift).toEqual([{ path: expect.stringContaining('TradeInBonus'), kind: 'undocumented' }])
  const { rows: stored } = await fixture.database.pool.query(
    `select body::text like '%TradeInBonus%' as stored from raw.payload_json where natural_key = '1001' and endpoint = 'geteval'`,
  )
  expect(stored).toEqual([{ stored: true }])
})
