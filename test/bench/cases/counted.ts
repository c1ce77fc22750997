import type { BenchCase, PreparedCase } from '../bench-case.ts'
import { type BenchFixture, type BenchWarehouse, openBenchFixture } from '../bench-fixture.ts'

const evaluations = 2_000
const rooftops = 4
const what = `${evaluations.toLocaleString('en')} evaluations of ${rooftops} rooftops`

interface Measured {
  readonly fixture: BenchFixture
  readonly warehouse: BenchWarehouse
}

/** The requests of a first load. */
export const firstRequests: BenchCase = {
  ...{ name: 'first-requests', unit: 'requests', counted: true, turns: 1 },
  what: `a first sync of ${what} by a list that does not reveal its limit`,
  referenceWhat: 'a read for each evaluation and a list for each window',
  target: { of: 'ratio', most: 1.1 },
  prepare: () =>
    onEmpty(async ({ fixture, warehouse }) => {
      const { windows, hydrated } = await fixture.sync(warehouse)
      const { lists, reads } = await fixture.ask('counts')
      return { figure: lists + reads, reference: windows + hydrated }
    }),
}

/** Statements to Postgres. */
export const statements: BenchCase = {
  ...{ name: 'statements', unit: 'statements', counted: true, turns: 1 },
  what: `a first sync of ${what}: statements to Postgres, those of the waiting left out`,
  referenceWhat: 'a statement for each evaluation',
  target: { of: 'ratio', most: 1 },
  prepare: () =>
    onEmpty(async ({ fixture, warehouse }) => {
      const { statements: figure, inserted } = await fixture.sync(warehouse)
      return { figure, reference: inserted }
    }),
}

/** Rows that a run writes although nothing has changed. */
export const unchangedRows: BenchCase = {
  ...{ name: 'unchanged-rows', unit: 'rows of data', counted: true, turns: 1 },
  what: `a sync of ${what}, all read again and unchanged: rows of core, pii and raw inserted, updated or deleted`,
  referenceWhat: 'rows that the first sync wrote',
  target: { of: 'figure', most: 0 },
  prepare: () =>
    onEmpty(async ({ fixture, warehouse }) => {
      await fixture.sync(warehouse)
      const reference = await written(warehouse)
      await fixture.sync(warehouse)
      return { figure: (await written(warehouse)) - reference, reference }
    }),
}

/** Measures figure and reference once, in an empty warehouse. */
async function onEmpty(
  measureOnce: (on: Measured) => Promise<{ readonly figure: number; readonly reference: number }>,
): Promise<PreparedCase> {
  await using started = new AsyncDisposableStack()
  const fixture = started.use(await openBenchFixture({ rooftops, evaluations }))
  const warehouse = started.use(await fixture.warehouse('counted'))
  await fixture.ask('counts')
  const { figure, reference } = await measureOnce({ fixture, warehouse })
  return {
    measure: async () => figure,
    reference: async () => reference,
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Rows written in this warehouse so far. */
async function written({ pool }: BenchWarehouse): Promise<number> {
  // A session reports its counts after a moment of idleness, or at its end.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const { rows } = await pool.query(
    `select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::float8 as count
     from pg_stat_user_tables where schemaname in ('core', 'pii', 'raw')`,
  )
  return rows[0].count
}
