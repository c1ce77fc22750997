import { spawnSync } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { BenchCase } from '../bench-case.ts'
import { type BenchWarehouse, openBenchFixture } from '../bench-fixture.ts'
import { readFilledTables } from '../filled-tables.ts'

/** The whole way from the list to the commit, beside files that Postgres only has to take in. */
export const firstLoad: BenchCase = {
  name: 'first-load',
  unit: 'evaluations/s',
  what: 'a first sync of 20,000 evaluations of 8 rooftops from a source on the same machine, 32 in flight, raw bodies stored',
  referenceWhat:
    'psql \\copy of the same rows and bodies from files into the same keyed tables, without the sums of the reports',
  target: { of: 'ratio', least: 0.45 },
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    const fixture = started.use(
      await openBenchFixture({ rooftops: 8, evaluations: quick ? 2_000 : 20_000 }),
    )
    const folder = started.use(await temporaryFolder()).path
    const dumped: Dumped[] = []
    {
      await using first = await fixture.warehouse('first')
      await fixture.sync(first)
      for (const [table, columns] of await readFilledTables(first.pool)) {
        await dump(first.pool, `${table} (${columns})`, join(folder, table))
        dumped.push({ table: `${table} (${columns})`, file: join(folder, table) })
      }
    }
    const all = started.move()
    return {
      async measure() {
        await using warehouse = await fixture.warehouse('first')
        const { inserted, seconds } = await fixture.sync(warehouse)
        return inserted / seconds
      },
      async reference() {
        await using warehouse = await fixture.warehouse('first')
        return fixture.evaluations / (await load(warehouse, dumped))
      },
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

/** A table with its columns, and the file that has its rows. */
interface Dumped {
  readonly table: string
  readonly file: string
}

async function dump(pool: pg.Pool, table: string, file: string): Promise<void> {
  const client = await pool.connect()
  await pipeline(client.query(copyTo(`copy ${table} to stdout`)), createWriteStream(file))
  client.release()
}

/** Seconds; by psql where there is one, else by the driver. */
async function load({ url, pool }: BenchWarehouse, dumped: readonly Dumped[]): Promise<number> {
  const startedMs = performance.now()
  if (spawnSync('psql', ['--version']).status === 0) {
    const copies = dumped.flatMap(({ table, file }) => ['-c', `\\copy ${table} from '${file}'`])
    const flags = ['-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1']
    const { status, stderr } = spawnSync('psql', [url, ...flags, ...copies])
    if (status !== 0) throw new Error(`psql: ${String(stderr)}`)
    return (performance.now() - startedMs) / 1000
  }
  const client = await pool.connect()
  await client.query('begin')
  for (const { table, file } of dumped)
    await pipeline(createReadStream(file), client.query(copyFrom(`copy ${table} from stdin`)))
  await client.query('commit')
  client.release()
  return (performance.now() - startedMs) / 1000
}
