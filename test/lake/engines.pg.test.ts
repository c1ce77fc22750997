import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { byEval, eraseIn } from '../privacy/erase/erase-fixture.ts'
import { type DeltaTable, lastExport, readLake } from '../warehouse/lake/delta.ts'
import { openDuckDb } from '../warehouse/lake/duckdb.ts'
import { type LakeFixture, openLakeFixture } from '../warehouse/lake/lake-fixture.ts'
import {
  type Answer,
  type Engine,
  type Engines,
  engines,
  openEngines,
  type Request,
  readWith,
} from './engines.ts'

let installed: Engines
let lake: LakeFixture
let nights: Night[]

/** What an export wrote, with a copy of the marts of that night. */
interface Night {
  readonly schema: string
  readonly tables: Readonly<Record<string, DeltaTable>>
  readonly versions: Readonly<Record<string, number>>
}

/** They change with the time of the query. */
const relativeToNow = new Set(['hours_behind', 'days_left'])

beforeAll(async () => {
  installed = await openEngines()
  lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  nights = await playNights(lake)
  return async () => {
    await installed[Symbol.asyncDispose]()
    await lake[Symbol.asyncDispose]()
  }
})

/** Ten nights: edits, late completions, deletes, an erasure, a rooftop that moves, a kill, and a schema change. */
async function playNights({ fixture, export: exportNow, start, lake: folder }: LakeFixture) {
  await using duck = await openDuckDb()
  const { pool } = fixture.database
  const { context, config } = fixture
  const changes: Readonly<Record<number, () => Promise<unknown>>> = {
    1: () => pool.query('update core.evaluation set final_price = final_price + 1'),
    2: () =>
      pool.query(
        `update core.evaluation set completed_at = created_at + interval '40 days', completed_date_local = created_date_local + 40 where eval_id % 5 = 0`,
      ),
    3: async () => {
      await pool.query('delete from core.reconditioning_item where eval_id % 3 = 0')
      const { rows } = await pool.query(`select min(eval_id)::int as id from core.evaluation`)
      await eraseIn(fixture, byEval(rows[0].id))
    },
    4: () =>
      registerRooftops(context.db, [
        { ...config.rooftops[0]!, group: 'acquired' },
        ...config.rooftops.slice(1),
      ]),
    5: () =>
      pool.query(
        'update core.evaluation set completed_at = null, completed_date_local = null where eval_id % 11 = 0',
      ),
    6: async () => {
      await pool.query('update core.evaluation set final_price = final_price * 2')
      await start({ FORECOURT_CRASH_AT: 'lake-table-committed:3' }).ended
    },
    7: () =>
      pool.query(
        `create view mart.plan as select 1 as plan_id, 5::integer as units, 1.5::numeric(12,2) as amount`,
      ),
    8: async () => {
      await pool.query('drop view mart.plan')
      await pool.query(
        `create view mart.plan as select 1 as plan_id, 3000000000::bigint as units, 1.5::numeric(15,2) as amount, 'new' as note,
           12345678901234567890123.5::numeric(30,2) as great`,
      )
    },
    9: () => pool.query('delete from core.photo where eval_id % 2 = 0'),
  }
  const played: Night[] = []
  for (let night = 0; night < 10; night++) {
    await changes[night]?.()
    const { isHistoryRemoved } = await exportNow()
    expect(isHistoryRemoved).toBe(night === 3)
    const schema = `night_${night}`
    await pool.query(`create schema ${schema}`)
    const { export: _, ...tables } = await readLake(duck, folder)
    for (const name of Object.keys(tables))
      await pool.query(`create table ${schema}.${name} as select * from mart.${name}`)
    const rows = await lastExport(duck, folder)
    const versions = Object.fromEntries(
      rows.map((row) => [row.table_name, Number(row.table_version)]),
    )
    played.push({ schema, tables, versions })
  }
  return played
}

/** The same sentence as an engine says it, from Postgres. */
async function expectedOf(
  pool: pg.Pool,
  { columns }: DeltaTable,
  { relation, where = 'true', engine }: { relation: string; where?: string; engine: Engine },
): Promise<Answer> {
  // Trino rounds instants to milliseconds.
  const unit = engine === 'trino' ? 1000 : 1
  const list = columns.map(({ name, type }) => {
    const column = `"${name}"`
    const number =
      type === 'timestamp'
        ? `round(extract(epoch from ${column}) * 1000000 / ${unit})::bigint * ${unit}`
        : type === 'date'
          ? `${column} - date '1970-01-01'`
          : type === 'boolean'
            ? `${column}::int`
            : column
    const plain = (value: string) =>
      type === 'double' ? `to_json(${value})` : `to_json(trim_scale((${value})::numeric)::text)`
    if (type === 'string') {
      const text = `${column}::text collate "C"`
      return `json_build_array(count(${column}), sum(octet_length(${column}::text))::text, min(${text}), max(${text})) as ${column}`
    }
    const sum = type === 'double' ? 'null' : plain(`sum(${number})`)
    return `json_build_array(count(${column}), ${sum}, ${plain(`min(${number})`)}, ${plain(`max(${number})`)}) as ${column}`
  })
  const { rows } = await pool.query(
    `select count(*)::int as "number of rows", ${list.join(', ')} from ${relation} where ${where}`,
  )
  const { 'number of rows': count, ...found } = rows[0]
  return { rows: count, columns: found }
}

function comparable({ rows, columns }: Answer): Answer {
  const lasting = Object.entries(columns).map(([name, values]) => [
    name,
    relativeToNow.has(name) ? values.slice(0, 1) : values,
  ])
  return { rows, columns: Object.fromEntries(lasting) }
}

async function expectNight(
  engine: Engine,
  answers: readonly Answer[],
  { schema, tables }: Night,
): Promise<void> {
  const { pool } = lake.fixture.database
  for (const [at, [name, table]] of Object.entries(tables).entries()) {
    const expected = await expectedOf(pool, table, {
      ...{ relation: `${schema}."${name}"`, engine },
    })
    expect([name, comparable(answers[at]!)]).toEqual([name, comparable(expected)])
  }
}

test.for(engines)(
  '%s reads every table and column as the marts have it',
  async (engine, { skip }) => {
    skip(installed.missing[engine] !== undefined, installed.missing[engine])
    const last = nights.at(-1)!
    const requests = Object.keys(last.tables).map((table) => ({
      table,
      version: null,
      filter: null,
    }))

    const answers = await readWith(installed, engine, lake.lake, requests)

    expect(answers.length).toBeGreaterThan(35)
    await expectNight(engine, answers, last)
  },
)

test.for(engines)('%s reads the tables of the fifth night', async (engine, { skip }) => {
  skip(installed.missing[engine] !== undefined, installed.missing[engine])
  const night = nights[4]!
  const requests = Object.keys(night.tables).map((table) => ({
    ...{ table, version: night.versions[table]!, filter: null },
  }))

  const answers = await readWith(installed, engine, lake.lake, requests)

  await expectNight(engine, answers, night)
})

test.for(engines)(
  '%s leaves out only files that have no row of the filter',
  async (engine, { skip }) => {
    skip(installed.missing[engine] !== undefined, installed.missing[engine])
    const { pool } = lake.fixture.database
    const { schema, tables } = nights.at(-1)!
    const relation = `${schema}.fact_evaluation`
    const { rows } = await pool.query(
      `select to_char(max(completed_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US+00:00') as last,
       percentile_disc(0.5) within group (order by final_price)::text as middle, max(final_price)::text as most from ${relation}`,
    )
    const { last, middle, most } = rows[0]
    const requestOf = (filter: Request['filter']): Request => ({
      ...{ table: 'fact_evaluation', version: null, filter },
    })

    const answers = await readWith(installed, engine, lake.lake, [
      requestOf(['completed_at', '==', last, 'timestamp']),
      requestOf(['final_price', '>', middle, 'decimal']),
      requestOf(['final_price', '>', most, 'decimal']),
    ])

    const wheres = [`completed_at = '${last}'`, `final_price > ${middle}`, 'false']
    for (const [at, where] of wheres.entries()) {
      const expected = await expectedOf(pool, tables['fact_evaluation']!, {
        ...{ relation, where, engine },
      })
      expect([where, answers[at]!.rows, answers[at]!.columns['eval_id']]).toEqual([
        ...[where, expected.rows, expected.columns['eval_id']],
      ])
    }
    expect(answers[0]!.rows).toBeGreaterThan(0)
  },
)

test.for(engines)(
  '%s that has opened a table reads one version while an export ends',
  async (engine, { skip }) => {
    skip(installed.missing[engine] !== undefined, installed.missing[engine])
    const { pool } = lake.fixture.database
    const facts = nights.at(-1)!.tables['fact_evaluation']!
    const expected: Answer[] = []
    const exportNow = async () => {
      await lake.export()
      expected.push(await expectedOf(pool, facts, { relation: 'mart.fact_evaluation', engine }))
    }
    await exportNow()
    const { table_version: version } = await factsOfLastExport()
    const requests = [null, Number(version)].map((one) => ({
      ...{ table: 'fact_evaluation', version: one, filter: null },
    }))

    const answers = await readWith(installed, engine, lake.lake, requests, async () => {
      await pool.query('update core.evaluation set final_price = final_price + 7')
      await exportNow()
    })

    // Some engines find the last version only when they read.
    expect(expected).toContainEqual(answers[0])
    expect(answers[1]).toEqual(expected[0])
    expect(expected[0]).not.toEqual(expected[1])
  },
)

async function factsOfLastExport() {
  await using duck = await openDuckDb()
  const rows = await lastExport(duck, lake.lake)
  return rows.find((row) => row.table_name === 'fact_evaluation')!
}
