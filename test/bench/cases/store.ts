import type { BenchCase, BenchOptions, PreparedCase, Target } from '../bench-case.ts'
import { openBenchFixture } from '../bench-fixture.ts'
import { startProcess } from '../processes/bench-process.ts'
import type { StoreOrder, StoreWay } from '../processes/store-process.ts'

const what =
  'evaluations whose rows are ready (31 in 8 tables, one the raw body), stored in batches of 1,000'

/** The load stage, with the sums of the reports, compared with the physical limit and with other methods. */
export const storeCopy = storeCase({
  name: 'store-copy',
  referenceWhat:
    'COPY of the same rows into the same keyed tables, without the sums of the reports',
  reference: 'copy',
  target: { of: 'ratio', least: 0.85 },
})

export const storeMultiRow = storeCase({
  name: 'store-multi-row',
  referenceWhat: 'Kysely: insert … values of 1,000 rows … on conflict do update, without the sums',
  reference: 'multi-row',
  target: { of: 'ratio', least: 3 },
  thorough: true,
})

export const storeRowByRow = storeCase({
  name: 'store-row-by-row',
  referenceWhat: 'an upsert for each row, in transactions of 1,000 evaluations, without the sums',
  reference: 'row-by-row',
  // A tenth of the evaluations is enough.
  share: 0.1,
  target: { of: 'ratio', least: 25 },
  thorough: true,
})

interface StoreCase {
  readonly name: string
  readonly referenceWhat: string
  readonly reference: StoreWay
  readonly share?: number
  readonly target: Target
  readonly thorough?: true
}

function storeCase({ reference, share = 1, ...about }: StoreCase): BenchCase {
  return {
    ...about,
    what,
    unit: 'evaluations/s',
    prepare: (options) => prepared(options, reference, share),
  }
}

async function prepared(
  { quick }: BenchOptions,
  other: StoreWay,
  share: number,
): Promise<PreparedCase> {
  await using started = new AsyncDisposableStack()
  const fixture = started.use(await openBenchFixture({ rooftops: 1, evaluations: 0 }))
  const process = started.use(startProcess('store-process.ts', Number.MAX_SAFE_INTEGER))
  const evaluations = Math.ceil((quick ? 2_000 : 10_000) * share)
  const store = async (how: StoreWay): Promise<number> => {
    await using warehouse = await fixture.warehouse('store')
    return await process.ask<number>({
      how,
      warehouse: warehouse.url,
      evaluations,
    } satisfies StoreOrder)
  }
  // Other methods use the rows of the load.
  await store('load')
  const all = started.move()
  return {
    measure: () => store('load'),
    reference: () => store(other),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
