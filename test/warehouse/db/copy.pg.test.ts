import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { errorText } from '#src/errors.ts'
import { copyIn, copyInto, copyTables, type TableRow } from '#src/warehouse/db/copy.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const line = (number: number) => Buffer.from(`${number}\t${'x'.repeat(200)}\n`)

function* lines(count: number, from = 0): Generator<Buffer> {
  for (let number = from; number < from + count; number++) yield line(number)
}

interface Tables extends AsyncDisposable {
  readonly client: pg.PoolClient
  readonly pool: pg.Pool
  counts(): Promise<number[]>
}

/** Two empty tables with a key, and a connection that may be lost. */
async function openTables(): Promise<Tables> {
  const database = await createTestDatabase()
  const { pool } = database
  await pool.query('create table one (id int primary key, text text)')
  await pool.query('create table two (like one including all)')
  const client = await pool.connect()
  return {
    client,
    pool,
    counts: async () => {
      const { rows } = await pool.query(
        'select (select count(*)::int from one) as one, (select count(*)::int from two) as two',
      )
      return [rows[0].one, rows[0].two]
    },
    [Symbol.asyncDispose]: async () => {
      client.release(true)
      await database[Symbol.asyncDispose]()
    },
  }
}

test('several tables are copied in one exchange, with any number of lines', async () => {
  await using tables = await openTables()

  await copyIn(tables.client, [
    { into: 'one (id, text)', lines: lines(100_000) },
    { into: 'two (id, text)', lines: [] },
    { into: 'two (text, id)', lines: [Buffer.from('a\t1\nb\t2\n'), Buffer.from('c\t3\n')] },
  ])

  expect(await tables.counts()).toEqual([100_000, 3])
  const { rows } = await tables.client.query('select text from two order by id')
  expect(rows).toEqual([{ text: 'a' }, { text: 'b' }, { text: 'c' }])
})

test('while Postgres accepts no data, no further lines are generated', { tags: 'ci' }, async () => {
  await using tables = await openTables()
  const holder = await tables.pool.connect()
  await holder.query('begin; lock table one')
  let made = 0
  function* counted() {
    for (const each of lines(400_000)) {
      made += 1
      yield each
    }
  }

  const copied = copyIn(tables.client, [{ into: 'one', lines: counted() }])
  await sleep(300)
  const atOnce = made
  await holder.query('commit')
  holder.release()
  await copied

  expect(atOnce).toBeGreaterThan(0)
  expect(atOnce).toBeLessThan(200_000)
  expect(made).toBe(400_000)
})

test.each([
  ['at once', [{ into: 'nowhere', lines: lines(50_000) }], /relation "nowhere" does not exist/],
  [
    'in the second table',
    [
      { into: 'one', lines: lines(50_000) },
      { into: 'two', lines: [...lines(10), ...lines(50_000)] },
      { into: 'one', lines: lines(50_000, 50_000) },
    ],
    /duplicate key value violates unique constraint "two_pkey"/,
  ],
  ['in a cell', [{ into: 'one', lines: [Buffer.from('no number\tx\n')] }], /invalid input syntax/],
] as const)(
  'what Postgres refuses %s leaves nothing behind, and the connection goes on',
  async (_, sources, message) => {
    await using tables = await openTables()
    const { client } = tables
    await client.query('begin')

    await expect(copyIn(client, sources)).rejects.toThrow(message)
    await client.query('rollback')

    expect(await tables.counts()).toEqual([0, 0])
    await copyIn(client, [{ into: 'one', lines: lines(3) }])
    expect(await tables.counts()).toEqual([3, 0])
  },
)

test('an error of the lines is thrown unchanged, and the connection still works', async () => {
  await using tables = await openTables()
  function* broken() {
    yield* lines(20_000)
    throw new Error('a cell that cannot be encoded')
  }

  await expect(
    copyIn(tables.client, [
      { into: 'two', lines: lines(5) },
      { into: 'one', lines: broken() },
    ]),
  ).rejects.toThrow('a cell that cannot be encoded')

  expect(await tables.counts()).toEqual([0, 0])
  await copyIn(tables.client, [{ into: 'one', lines: lines(3) }])
  expect(await tables.counts()).toEqual([3, 0])
})

test('a connection that ends meanwhile ends the copy', async () => {
  await using tables = await openTables()
  const { rows } = await tables.client.query('select pg_backend_pid() as pid')
  function* slain() {
    for (let number = 0; ; number++) {
      if (number === 100_000)
        void tables.pool.query('select pg_terminate_backend($1)', [rows[0].pid])
      yield line(number)
    }
  }

  const error = await copyIn(tables.client, [{ into: 'one', lines: slain() }]).catch(errorText)

  expect(error).toMatch(/terminat|ECONNRESET|EPIPE/)
  expect(await tables.counts()).toEqual([0, 0])
})

test('without lines nothing is sent', async () => {
  await using tables = await openTables()
  await tables.client.query('begin')
  await expect(tables.client.query('select 1 / 0')).rejects.toThrow()

  await copyIn(tables.client, [])
})

const recon: TableRow<'core.reconditioning_item'> = {
  ...{ rooftop_id: 1, eval_id: 1, first_version: 1, line_no: 1, last_version: null },
  ...{ recon_type: null, source: null, cost: '1.000', value_text: null, battery_soh_pct: null },
}
const { value_text: _, ...withoutNullable } = recon
const { cost: __, ...withoutCost } = recon

test('rows with a missing, misspelt or unknown column do not compile: npm run typecheck', () => {
  const neverCalled = async (client: pg.ClientBase) => {
    // @ts-expect-error a nullable column is missing
    await copyInto(client, 'core.reconditioning_item', [withoutNullable])
    // @ts-expect-error a column is misspelt
    await copyInto(client, 'core.reconditioning_item', [{ ...withoutCost, costs: '1.000' }])
    // @ts-expect-error a column is unknown
    await copyInto(client, 'core.reconditioning_item', [{ ...recon, colour: 'red' }])
    // @ts-expect-error a column has another type
    await copyInto(client, 'core.reconditioning_item', [{ ...recon, line_no: 'first' }])
    // @ts-expect-error a table is unknown
    await copyInto(client, 'core.reconditioning_items', [recon])
  }

  expect(neverCalled).toBeTypeOf('function')
})

test('a row without a nullable column is refused too where its type is not known', async () => {
  await using database = await createTestDatabase()
  const client = await database.pool.connect()

  await copyInto(client, 'core.reconditioning_item', [recon])
  const refused = copyTables(client, [['core.reconditioning_item', [withoutNullable]]])

  await expect(refused).rejects.toThrow('A row of core.reconditioning_item has no value_text.')
  client.release(true)
})
