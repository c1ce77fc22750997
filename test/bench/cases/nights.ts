import type { BenchCase, BenchOptions, PreparedCase } from '../bench-case.ts'
import { openBenchFixture } from '../bench-fixture.ts'
import type { DownloadOrder } from '../processes/download-process.ts'

/** The cost of a night without changes: one list for each due window. */
export const idleNight: BenchCase = {
  name: 'idle-night',
  unit: 'rooftops/s',
  what: 'a sync of 1,000 rooftops that have nothing new: three windows of each are listed again',
  referenceWhat: 'the same lists by the same client, thrown away',
  target: { of: 'ratio', least: 0.3 },
  prepare: ({ quick }) => nightOf({ rooftops: quick ? 100 : 1_000, perRooftop: 0 }),
}

/** The statements of such a night. */
export const idleStatements: BenchCase = {
  ...{ name: 'idle-statements', unit: 'statements', counted: true, turns: 1 },
  what: 'a sync of 200 rooftops that have nothing new: statements to Postgres, those of the waiting left out',
  referenceWhat: 'a statement for each rooftop',
  target: { of: 'ratio', most: 1 },
  async prepare() {
    const rooftops = 200
    await using started = new AsyncDisposableStack()
    const fixture = started.use(await openBenchFixture({ rooftops, evaluations: 0 }))
    const warehouse = started.use(await fixture.warehouse('night'))
    await fixture.sync(warehouse)
    const all = started.move()
    return {
      measure: async () => (await fixture.sync(warehouse)).statements,
      reference: async () => rooftops,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

/** A whole night of a large group, and an extrapolation. */
export const largeNight: BenchCase = {
  name: 'large-night',
  unit: 'rooftops/s',
  what: '5,000 rooftops of 30 new evaluations each: a first sync of a day',
  referenceWhat: 'the same lists and reads by the same client, thrown away',
  target: { of: 'ratio', least: 0.2 },
  turns: 1,
  thorough: true,
  prepare: (options) => firstNightOf(options),
}

async function nightOf({
  rooftops,
  perRooftop,
}: {
  readonly rooftops: number
  readonly perRooftop: number
}): Promise<PreparedCase> {
  await using started = new AsyncDisposableStack()
  const fixture = started.use(
    await openBenchFixture({ rooftops, evaluations: rooftops * perRooftop }),
  )
  const warehouse = started.use(await fixture.warehouse('night'))
  await fixture.sync(warehouse)
  const { rows: lists } = await warehouse.pool.query(
    `select dealer_id as rooftop, extract(epoch from window_from)::int as from, extract(epoch from window_until)::int as until
     from ops.window_certificate join core.rooftop using (rooftop_id)`,
  )
  const { source, start } = fixture
  const order: DownloadOrder = {
    ...{ warehouse: warehouse.url, source, rooftops, start, concurrency: 32, lists, evalIds: [] },
  }
  const all = started.move()
  return {
    measure: async () => rooftops / (await fixture.sync(warehouse)).seconds,
    async reference() {
      await using client = fixture.process('download-process.ts')
      return rooftops / (await client.ask<number>(order))
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

async function firstNightOf({ quick }: BenchOptions): Promise<PreparedCase> {
  await using started = new AsyncDisposableStack()
  const rooftops = quick ? 250 : 5_000
  const fixture = started.use(
    await openBenchFixture({ rooftops, evaluations: rooftops * 30, days: 1 }),
  )
  const { source, start } = fixture
  const numbers = Array.from({ length: rooftops }, (_, at) => at + 1)
  const from = Date.parse(start) / 1000
  const order: Omit<DownloadOrder, 'warehouse'> = {
    ...{ source, rooftops, start, concurrency: 32 },
    lists: numbers.map((rooftop) => ({ rooftop, from, until: from + 2 * 86_400 })),
    evalIds: numbers.flatMap((rooftop) =>
      Array.from({ length: 30 }, (_, at) => rooftop * 10_000_000 + at),
    ),
  }
  const all = started.move()
  return {
    async measure() {
      await using warehouse = await fixture.warehouse('large')
      // The requests of the reference are not part of the night: reading the counts resets them.
      await fixture.ask('counts')
      let seconds = 0
      const wal = await warehouse.walOf(async () => {
        seconds = (await fixture.sync(warehouse)).seconds
      })
      const { lists, reads } = await fixture.ask('counts')
      printNight({ rooftops, lists, reads, seconds, wal })
      return rooftops / seconds
    },
    async reference() {
      await using client = fixture.process('download-process.ts')
      return rooftops / (await client.ask<number>({ ...order, warehouse: '' }))
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

interface Night {
  readonly rooftops: number
  readonly lists: number
  readonly reads: number
  readonly seconds: number
  readonly wal: number
}

const history = 500_000_000
const sourceSeconds = 0.35

/** Prints the figures of the night, and those of half a billion evaluations, extrapolated. */
function printNight({ rooftops, lists, reads, seconds, wal }: Night): void {
  const figure = (value: number) => Math.round(value).toLocaleString('en')
  const times = history / reads
  const requests = (lists + reads) * times
  const hours = (each: number) => `${figure(each / 3600)} h`
  console.log(`
${figure(rooftops)} rooftops, measured: ${figure(lists)} lists, ${figure(reads)} reads, ${figure(seconds)} s, ${figure(wal / 1e6)} MB of WAL.
Half a billion evaluations, extrapolated from that by multiplying:
  requests                                      ${figure(requests)}
  WAL                                           ${figure((wal * times) / 1e9)} GB
  one such machine, a source that takes no time ${hours(seconds * times)}
  a source of 350 ms,   8 in flight             ${hours((requests * sourceSeconds) / 8)}
  a source of 350 ms, 400 in flight (50 keys)   ${hours((requests * sourceSeconds) / 400)}
`)
}
