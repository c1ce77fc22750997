import { readWrittenColumns } from '#src/warehouse/db/copy.ts'
import type { BenchCase } from '../bench-case.ts'
import { type BenchFixture, type BenchWarehouse, openBenchFixture } from '../bench-fixture.ts'
import type { DownloadOrder } from '../processes/download-process.ts'

const what = 'a sync of 20,000 known evaluations that are all read again and have not changed'

/** The processing of unchanged answers. */
export const unchanged: BenchCase = {
  name: 'unchanged',
  unit: 'evaluations/s',
  what,
  referenceWhat:
    'the same requests by the same client in a process as new, the answers thrown away',
  target: { of: 'ratio', least: 0.8 },
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    const { fixture, warehouse } = await loaded(started, quick ? 3_000 : 20_000)
    const order = await requestsOf(fixture, warehouse)
    const all = started.move()
    return {
      async measure() {
        const { hydrated, seconds } = await fixture.sync(warehouse)
        return hydrated / seconds
      },
      async reference() {
        // A new process, like that of the sync: a warmed-up client is faster.
        await using client = fixture.process('download-process.ts')
        return fixture.evaluations / (await client.ask<number>(order))
      },
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

/** The WAL of such a run. */
export const unchangedWal: BenchCase = {
  name: 'unchanged-wal',
  unit: 'bytes of WAL an evaluation',
  counted: true,
  what: `${what}; ledger and coverage included`,
  referenceWhat:
    'insert … on conflict do update … where it differs, of the same keys: locks every row, changes none',
  target: { of: 'figure', most: 8 },
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    // Not fewer: otherwise the fixed writes of a run would dominate.
    const { fixture, warehouse } = await loaded(started, quick ? 12_000 : 20_000)
    const all = started.move()
    return {
      measure: async () =>
        (await warehouse.walOf(() => fixture.sync(warehouse))) / fixture.evaluations,
      reference: async () =>
        (await warehouse.walOf(() => conflict(warehouse))) / fixture.evaluations,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

async function loaded(
  started: AsyncDisposableStack,
  evaluations: number,
): Promise<{ fixture: BenchFixture; warehouse: BenchWarehouse }> {
  const fixture = started.use(await openBenchFixture({ rooftops: 8, evaluations }))
  const warehouse = started.use(await fixture.warehouse('unchanged'))
  await fixture.sync(warehouse)
  return { fixture, warehouse }
}

/** Of the last sync: as many lists, with the bounds of its certificates, and all evaluations. */
async function requestsOf(
  fixture: BenchFixture,
  { pool, url }: BenchWarehouse,
): Promise<DownloadOrder> {
  const seconds = (column: string) => `extract(epoch from ${column})::int`
  const { rows: lists } = await pool.query(
    `select dealer_id as rooftop, ${seconds('window_from')} as from, ${seconds('window_until')} as until
     from ops.window_certificate join core.rooftop using (rooftop_id)`,
  )
  const { rows } = await pool.query('select eval_id from core.evaluation')
  const evalIds = rows.map(({ eval_id }) => Number(eval_id))
  const { source, rooftops, start } = fixture
  return { warehouse: url, source, rooftops, start, concurrency: 32, lists, evalIds }
}

async function conflict({ pool }: BenchWarehouse): Promise<void> {
  for (const [table, key] of Object.entries(keys)) {
    const names = await readWrittenColumns(pool, table)
    const first = key.split(', ')[0]
    await pool.query(
      `insert into ${table} (${names}) select ${names} from ${table}
       on conflict (${key}) do update set ${first} = excluded.${first} where false`,
    )
  }
}

const keys: Readonly<Record<string, string>> = {
  'core.evaluation': 'rooftop_id, eval_id',
  'core.photo': 'rooftop_id, eval_id, photo_id',
  'core.custom_field_value': 'rooftop_id, eval_id, field_name',
}
