import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { makeConfig } from '#src/app/config/read.ts'
import { errorText } from '#src/errors.ts'
import { openLog } from '#src/log.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { readRecord } from '#src/sync/records/hydrate.ts'
import { copyTables } from '#src/warehouse/db/copy.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { openFixture } from '../support/fixture.ts'
import { createTestDatabase } from '../support/postgres.ts'

// Every kind of failing row contains a planted customer; no log or table may name them.

const canary = 'Jane Canary'

const statements = {
  'not null': `insert into planted values (1, '${canary}', null)`,
  check: `insert into planted values (-1, '${canary}', 1)`,
  unique: `insert into planted values (5, '${canary}', 1), (5, '${canary}', 1)`,
  'foreign key': `insert into planted (id, name, amount, owner) values (6, '${canary}', 1, '${canary}')`,
  'invalid date': `select '${canary}'::date`,
  'invalid number': `select '${canary}'::numeric`,
  'quotes in the value': `select '"a" ${canary}'::timestamptz`,
  'out of range': `select '0000-01-01 ${canary}'::timestamptz`,
  json: `select '{"name": ${canary}}'::json`,
  array: `select '{${canary}'::text[]`,
  'zone that is none': `select now() at time zone '${canary}'`,
  'within a function': `do $$ begin perform '${canary}'::int; end $$`,
  'a parameter': ['select $1::int', [canary]],
} as const

test.each(Object.entries(statements))(
  'an error of Postgres is logged without the customer: %s',
  async (_, statement) => {
    await using database = await createTestDatabase()
    await database.pool.query(
      `create table planted_owner (name text primary key);
     create table planted (id int unique check (id > 0), name text, amount int not null,
       owner text references planted_owner)`,
    )
    const [text, values] = typeof statement === 'string' ? [statement, []] : statement
    const error = await database.pool.query(text, [...values]).catch((thrown: unknown) => thrown)

    expect(error).toBeInstanceOf(DatabaseError)
    expectUnnamed(error)
  },
)

test('a refused COPY is logged without the customer', async () => {
  await using database = await createTestDatabase()
  await database.pool.query('create table core.planted (id int not null, name text)')
  const client = await database.pool.connect()
  const rows = [{ id: canary, name: canary }]
  const error = await copyTables(client, [['core.planted', rows]]).catch(
    (thrown: unknown) => thrown,
  )
  client.release(true)

  expect(error).toBeInstanceOf(Error)
  expectUnnamed(error)
})

test('messages of JSON.parse and zod are logged without the customer', () => {
  for (const text of [canary, `{"name": ${canary}}`, `{"name": "${canary}`, `["${canary}" x`])
    expectUnnamed(thrownBy(() => JSON.parse(text)))
  expectUnnamed(thrownBy(() => z.object({ at: z.iso.datetime() }).parse({ at: canary })))
})

test('a record that is not JSON, or has values that do not fit, is quarantined with issues that do not name the customer', () => {
  const { wire } = makeConfig({ rooftops: [], keys: {} } as never, '/nowhere')
  const owner = { timeZone: 'UTC' } as never
  for (const text of [
    `{"EvalID": 1, "CustomerName": ${canary}}`,
    canary,
    JSON.stringify([
      { EvalID: 1, VIN: { [canary]: canary }, UpdatedAt: canary, FinalPrice: canary },
    ]),
  ]) {
    const read = readRecord(evaluations.records!, () => owner, wire.appraisal, {
      id: 1,
      text,
      readAt: new Date('2026-03-10T06:30:00Z'),
    })
    expect(read.kind).toBe('rejected')
    expect(JSON.stringify(read)).not.toContain('Canary')
  }
})

test('a slice that fails on a row of the customer is reported in log and warehouse without naming them', async () => {
  await using fixture = await openFixture({
    sandbox: {
      now: new Date('2026-03-10T06:30:00Z'),
      world: worldOf({ evaluations: [anEvaluation({ customer: { name: canary } })] }),
    },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await pool.query(
    `alter table pii.evaluation_customer add constraint planted check (customer_name not like '%Canary%')`,
  )
  const lines: string[] = []
  const log = openLog({
    level: 'debug',
    human: false,
    secrets: [],
    write: (line) => void lines.push(line),
  })
  await fixture.night({ log })
  const { rows } = await pool.query(
    `select (select json_agg(r) from ops.run r) as runs, (select json_agg(s) from ops.run_stream s) as streams,
       (select json_agg(to_jsonb(q) - 'payload') from ops.quarantine q) as quarantine`,
  )

  expect(lines.length).toBeGreaterThan(0)
  expect(lines.join('')).not.toContain('Canary')
  expect(JSON.stringify(rows)).toContain('planted')
  expect(JSON.stringify(rows)).not.toContain('Canary')
})

test('the code, table, constraint and stack stay in the log', async () => {
  await using database = await createTestDatabase()
  const error = await database.pool
    .query(`insert into core.rooftop_group (group_code) values (null)`)
    .catch((thrown: unknown) => thrown)

  expect(JSON.parse(logged(error)).err).toMatchObject({
    code: '23502',
    table: 'rooftop_group',
    column: 'group_code',
    stack: expect.stringContaining('canary.pg.test.ts'),
  })
})

/** Alone, as a cause and among several errors; in a field and in the message. */
function expectUnnamed(error: unknown): void {
  const wrapped = new Error('outer', { cause: new AggregateError([error], 'several') })
  for (const one of [error, wrapped, wrapped.cause]) {
    expect(logged(one)).not.toContain('Canary')
    expect(errorText(one)).not.toContain('Canary')
    expect(errorText(one)).not.toBe('')
  }
}

function logged(error: unknown): string {
  const lines: string[] = []
  for (const human of [false, true]) {
    const log = openLog({
      level: 'debug',
      human,
      secrets: [],
      write: (line) => void lines.push(line),
    })
    log.error({ err: error }, 'slice failed')
    log.error({ err: error })
    log.error(error)
  }
  return lines[0]!.startsWith('{') && lines.every((line) => !line.includes('Canary'))
    ? lines[0]!
    : lines.join('')
}

function thrownBy(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}
