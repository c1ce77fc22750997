import { describe, expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import {
  readBookkeeping,
  readReport,
  reports,
  rowDifferences,
} from '../../support/marts-compare.ts'
import { openMartFixture } from '../../support/marts-fixture.ts'
import { requiredCases } from '../../support/marts-required-cases.ts'
import { type MartTruth, martTruth, type ReportRow } from '../../support/marts-rows.ts'

const seeds = someOf([1, 2], 1)
/** A world is loaded in some ten seconds, and in a minute on a busy machine. */
const timeoutMs = 300_000

interface Compared {
  readonly truth: MartTruth
  readonly expected: ReadonlyMap<string, readonly ReportRow[]>
  readonly actual: ReadonlyMap<string, readonly ReportRow[]>
}

const worlds = new Map<number, Promise<Compared>>()

/** Each world is loaded once. */
function worldOf(seed: number): Promise<Compared> {
  const known = worlds.get(seed) ?? compareWorld(seed)
  worlds.set(seed, known)
  return known
}

/** Read in one transaction, so that now() is the same instant everywhere. */
async function compareWorld(seed: number): Promise<Compared> {
  await using fixture = await openMartFixture(seed)
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
    return { truth, expected, actual }
  } finally {
    await client.query('rollback')
    client.release()
  }
}

describe.each(seeds)('seed %i', (seed) => {
  test.each(reports)(
    '$view says what the world says, row by row and column by column',
    async ({ view, key }) => {
      const { expected, actual } = await worldOf(seed)

      const found = rowDifferences(expected.get(view)!, actual.get(view)!, key)

      expect(found.slice(0, 40), `${found.length} differences`).toEqual([])
      expect(expected.get(view)).not.toHaveLength(0)
    },
    timeoutMs,
  )

  test(
    'the world has every case that the reports must distinguish',
    async () => {
      const { actual } = await worldOf(seed)

      const lacking = requiredCases.filter(({ view, holds }) => !actual.get(view)!.some(holds))

      expect(lacking.map(({ view, what }) => `${view}: ${what}`)).toEqual([])
    },
    timeoutMs,
  )
})

test.each(reports)(
  'a wrong cell, a row too few and a row too many are found in $view',
  async ({ view, key }) => {
    const { expected, actual } = await worldOf(1)
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
    const { truth, actual } = await worldOf(1)
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
