import { expect, test } from 'vitest'
import {
  readBookkeeping,
  readReport,
  reports,
  rowDifferences,
} from '../../support/marts-compare.ts'
import { openMartFixture } from '../../support/marts-fixture.ts'
import { requiredCases } from '../../support/marts-required-cases.ts'
import { type MartTruth, martTruth, type ReportRow } from '../../support/marts-rows.ts'

/** A world is loaded in some ten seconds, and in a minute on a busy machine. */
const timeoutMs = 300_000

interface Compared {
  readonly truth: MartTruth
  readonly expected: ReadonlyMap<string, readonly ReportRow[]>
  readonly actual: ReadonlyMap<string, readonly ReportRow[]>
  /** Of `fact_evaluation`, by EvalID. */
  readonly priceOutcomes: readonly (readonly [evalId: number, outcome: string | null])[]
}

let compared: Promise<Compared> | undefined

/** Loaded once. */
function world(): Promise<Compared> {
  compared ??= compareWorld()
  return compared
}

/** Read in one transaction, so that now() is the same instant everywhere. */
async function compareWorld(): Promise<Compared> {
  await using fixture = await openMartFixture(1)
  const client = await fixture.database.pool.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    const truth = await martTruth(fixture, client)
    const bookkeeping = await readBookkeeping(client)
    const expected = new Map(
      reports.map(({ view, expectedRows: rowsOf }) => [view, rowsOf(truth, bookkeeping)]),
    )
    const actual = new Map<string, readonly ReportRow[]>()
    for (const { view } of reports) actual.set(view, await readReport(client, view))
    const { rows } = await client.query<{ id: string; outcome: string | null }>(
      `select eval_id as id, price_outcome as outcome from mart.fact_evaluation
       where completed_date is not null and not is_gone`,
    )
    const priceOutcomes = rows.map(({ id, outcome }) => [Number(id), outcome] as const)
    return { truth, expected, actual, priceOutcomes }
  } finally {
    await client.query('rollback')
    client.release()
  }
}

test.each(reports)(
  '$view says what the world says, row by row and column by column',
  async ({ view, key }) => {
    const { expected, actual } = await world()

    const found = rowDifferences(expected.get(view)!, actual.get(view)!, key)

    expect(found.slice(0, 40), `${found.length} differences`).toEqual([])
    expect(expected.get(view)).not.toHaveLength(0)
  },
  timeoutMs,
)

test(
  'fact_evaluation says which evaluation has a guide price, and why another has none',
  async () => {
    const { truth, priceOutcomes } = await world()
    const byId = (a: readonly [number, unknown], b: readonly [number, unknown]) => a[0] - b[0]

    const wanted = truth.present.map(({ evalId, prices }) => {
      return [
        evalId,
        prices === null ? (truth.fixture.unpriced.get(evalId) ?? null) : 'priced',
      ] as const
    })

    expect(priceOutcomes.toSorted(byId)).toEqual(wanted.toSorted(byId))
    const outcomes = new Set(wanted.map(([, outcome]) => outcome))
    expect([...outcomes].sort()).toEqual(['failed', 'priced', 'rejected', 'skipped', null].sort())
  },
  timeoutMs,
)

test(
  'the world has every case that the reports must distinguish',
  async () => {
    const { actual } = await world()

    const lacking = requiredCases.filter(({ view, holds }) => !actual.get(view)!.some(holds))

    expect(lacking.map(({ view, what }) => `${view}: ${what}`)).toEqual([])
  },
  timeoutMs,
)

test.each(reports)(
  'a wrong cell, a row too few and a row too many are found in $view',
  async ({ view, key }) => {
    const { expected, actual } = await world()
    const truth = expected.get(view)!
    const held = actual.get(view)!
    const [first, ...rest] = held
    const column = Object.keys(first!).findLast((name) => !key.includes(name))!
    const wrong = { ...first!, [column]: 'planted' }

    const found = [[wrong, ...rest], rest, [...held, first!]].map((rows) =>
      rowDifferences(truth, rows, key),
    )

    expect(found.map((lines) => lines.length)).toEqual([1, 1, 1])
    expect(found[0]![0]).toContain(`.${column}: "planted" instead of `)
    expect(found[1]![0]).toMatch(/ is missing$/)
    expect(found[2]![0]).toMatch(/ is there again$/)
  },
  timeoutMs,
)

test(
  'another price of one evaluation at the source is found in every report that it is part of',
  async () => {
    const { truth, actual } = await world()
    const priced = truth.present.find(
      (one) => one.truth.finalPrice !== null && one.versions.length === 1,
    )!
    const price = { finalPrice: priced.truth.finalPrice! + 0.001 }
    const present = truth.present.map((one) =>
      one === priced ? { ...one, truth: { ...one.truth, ...price } } : one,
    )
    const views = ['rpt_01_appraisal_gap', 'rpt_10_appraisal_volume']

    const found = reports
      .filter(({ view }) => views.includes(view))
      .map(({ view, key, expectedRows: rowsOf }) =>
        rowDifferences(rowsOf({ ...truth, present }, new Map()), actual.get(view)!, key),
      )

    expect(found.map((lines) => lines.length > 0)).toEqual([true, true])
  },
  timeoutMs,
)
