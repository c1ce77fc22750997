import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMarts } from '#src/warehouse/db/mart-files.ts'
import { joinsOf, keyOf, type MartView, readCatalogue } from '../../support/marts-catalogue.ts'
import { reports } from '../../support/marts-compare.ts'
import { openMartWarehouse } from '../../support/marts-fixture.ts'
import type { TestDatabase } from '../../support/postgres.ts'

/** A world is loaded in some ten seconds, and in a minute on a busy machine. */
const timeoutMs = 300_000
const files = (await readMarts()).files
const schemas = ['mart', 'mart_pii', 'mart_scoped']

let database: TestDatabase
let pool: pg.Pool
let views: readonly MartView[]

beforeAll(async () => {
  database = await openMartWarehouse()
  pool = database.pool
  views = await readCatalogue(pool, schemas)
}, timeoutMs)

afterAll(async () => {
  await database[Symbol.asyncDispose]()
})

const of = (schema: string) => views.filter((view) => view.schema === schema)
const named = (view: MartView) => `${view.schema}.${view.name}`
const inMart = () => [...of('mart'), ...of('mart_pii')]

async function values(query: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(query)
  return rows.map((row) => Object.values(row).join(' '))
}

test('every column has a type that all drivers show, and a comment', async () => {
  const odd = await values(`
    select n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
    from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_description as d on d.objoid = c.oid and d.objsubid = a.attnum and d.classoid = 'pg_class'::regclass
    where n.nspname in ('mart', 'mart_pii', 'mart_scoped') and (d.description is null
      or not (a.atttypid = any(array['bool', 'int2', 'int4', 'int8', 'date', 'timestamptz']::regtype[])
        or (a.atttypid in ('numeric'::regtype, 'varchar'::regtype, 'bpchar'::regtype) and a.atttypmod <> -1)))`)

  expect(odd).toEqual([])
  expect(views.length).toBeGreaterThan(60)
})

test('no text is wider than 255 characters', () => {
  const wide = views.flatMap((view) =>
    view.columns
      .filter(({ type }) => Number(/^character varying\((\d+)\)$/.exec(type)?.[1] ?? 0) > 255)
      .map(({ name, type }) => `${named(view)}.${name} ${type}`),
  )

  expect(wide).toEqual([])
})

test('money is numeric(15,3), sums numeric(18,3), shares numeric(7,4), and money has its currency in the same view', () => {
  const allowed = /^numeric\((15,3|18,3|7,4|12,2|12,1|5,2)\)$/
  const numbers = views.flatMap((view) =>
    view.columns
      .filter(({ type }) => type.startsWith('numeric') && !allowed.test(type))
      .map(({ name, type }) => `${named(view)}.${name} ${type}`),
  )
  const bare = views
    .filter(({ columns }) => columns.some(({ type }) => /,3\)$/.test(type)))
    .filter(({ columns }) => columns.every(({ name }) => name !== 'currency_code'))

  expect(numbers).toEqual([])
  expect(bare.map(named)).toEqual([])
})

test('every view says what it answers, its grain, key, history and freshness, as its file does', () => {
  const names = ['grain', 'key', 'history', 'freshness']
  const wrong = inMart().filter(({ name, comment: { text, parts } }) => {
    const file = files.find((one) => one.name === name)
    const isWhole = Object.keys(parts).sort().join() === [...names].sort().join()
    const isFilled = [text, ...Object.values(parts)].every((part) => isSentence(part))
    return !isWhole || !isFilled || parts['grain'] !== file?.grain
  })

  expect(wrong.map((view) => `${named(view)}: ${JSON.stringify(view.comment)}`)).toEqual([])
})

test('every column says what it is, its unit and its source', () => {
  const wrong = inMart().flatMap((view) =>
    view.columns
      .filter(({ comment: { text, parts } }) => {
        const isWhole = 'unit' in parts && 'source' in parts
        const isKnown = Object.keys(parts).every((part) =>
          ['unit', 'source', 'joins'].includes(part),
        )
        return !isWhole || !isKnown || ![text, ...Object.values(parts)].every(isSentence)
      })
      .map(({ name, comment: meaning }) => `${named(view)}.${name}: ${JSON.stringify(meaning)}`),
  )

  expect(wrong).toEqual([])
})

/** data_dictionary shows up to 255 characters of each part. */
function isSentence(part: string): boolean {
  return part.trim() === part && part.length > 0 && part.length <= 255
}

test('mart and mart_scoped have the same views with the same columns in the same order', () => {
  const shape = (schema: string) =>
    of(schema).map(({ name, columns }) => [name, columns.map((one) => [one.name, one.type])])

  expect(shape('mart_scoped')).toEqual(shape('mart'))
})

test('every view has rows in the loaded world', async () => {
  const empty = []
  for (const view of inMart()) {
    const { rows } = await pool.query(`select from ${named(view)} limit 1`)
    if (rows.length === 0) empty.push(named(view))
  }

  expect(empty).toEqual([])
})

test('the key of every view is unique, and is null only where its comment says so', async () => {
  const broken: string[] = []
  for (const view of inMart()) {
    const key = keyOf(view)
    const unknown = key.filter((name) => view.columns.every((column) => column.name !== name))
    if (key.length === 0 || unknown.length > 0) {
      broken.push(`${named(view)}: its key "${key.join(', ')}" names no such column`)
      continue
    }
    const twice = await values(
      `select count(*), ${key.join(', ')} from ${named(view)} group by ${key.join(', ')} having count(*) > 1 limit 3`,
    )
    broken.push(...twice.map((row) => `${named(view)} is there again: ${row}`))
    const strict = view.columns.filter(
      ({ name, comment: meaning }) => key.includes(name) && !/\bnull\b/.test(`${meaning.text}`),
    )
    for (const { name } of strict) {
      const nulls = await values(`select 1 from ${named(view)} where ${name} is null limit 1`)
      if (nulls.length > 0) broken.push(`${named(view)}.${name} is null`)
    }
  }

  expect(broken).toEqual([])
})

test('what a column joins to is there, is the key of its view, and has a row for each value', async () => {
  const broken: string[] = []
  let joined = 0
  for (const view of inMart())
    for (const { column, toView, toColumn } of joinsOf(view)) {
      const name = `${named(view)}.${column}`
      const target = of('mart').find((one) => one.name === toView)
      if (target === undefined || keyOf(target).join() !== toColumn) {
        broken.push(`${name}: ${toColumn} is not the key of mart.${toView}`)
        continue
      }
      const orphans = await values(
        `select ${column} from ${named(view)} as one where ${column} is not null
           and not exists (select from mart.${toView} as other where other.${toColumn} = one.${column}) limit 3`,
      )
      broken.push(...orphans.map((value) => `${name}: mart.${toView} has no ${value}`))
      joined += 1
    }

  expect(broken).toEqual([])
  expect(joined).toBeGreaterThan(60)
})

test('no chain of views is longer than three', async () => {
  const long = await values(`
    with recursive uses as (
      select distinct rule.ev_class as view, part.refobjid as used
      from pg_rewrite as rule
      join pg_depend as part on part.objid = rule.oid and part.classid = 'pg_rewrite'::regclass
        and part.refclassid = 'pg_class'::regclass and part.refobjid <> rule.ev_class
      join pg_class as used on used.oid = part.refobjid and used.relkind = 'v'
    ), chain as (
      select view, used, 2 as depth from uses
      union all
      select chain.view, uses.used, depth + 1 from chain join uses on uses.view = chain.used where depth < 9
    )
    select n.nspname || '.' || c.relname, max(depth) from chain
    join pg_class as c on c.oid = view join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname in ('mart', 'mart_pii', 'mart_scoped') group by 1 having max(depth) > 3 order by 1`)

  expect(long).toEqual([])
})

test('the names of the contract are there', () => {
  const names = [
    ...['dim_date', 'dim_rooftop', 'dim_user', 'dim_vehicle', 'dim_watch_status'],
    ...['fact_evaluation', 'fact_evaluation_change', 'fact_reconditioning', 'fact_photo'],
    ...['fact_price_observation', 'fact_vehicle_check', 'fact_watch_status_change'],
    ...['fact_stock_unit', 'evaluation_wide'],
    ...['data_dictionary', 'data_freshness', 'mart_version'],
  ]
  const present = of('mart').map(({ name }) => name)

  expect(names.filter((name) => !present.includes(name))).toEqual([])
  expect(present.filter((name) => name.startsWith('rpt_'))).toEqual(reports.map(({ view }) => view))
})

describe('mart.data_dictionary', () => {
  test('has a row for every view and for every column, as the comments say', async () => {
    const { rows } = await pool.query<Record<string, string | null>>(
      'select view_name, column_name, description, unit, joins_to, grain from mart.data_dictionary order by view_name collate "C", position',
    )

    const expected = of('mart').flatMap(({ name, comment: meaning, columns }) => [
      [name, null, meaning.text, null, null, meaning.parts['grain']],
      ...columns.map((column) => {
        const { text, parts } = column.comment
        return [name, column.name, text, parts['unit'], parts['joins'] ?? null, null]
      }),
    ])
    expect(rows.map((row) => Object.values(row))).toEqual(expected)
  })
})

test('the current version is that of sql/marts/VERSION', async () => {
  const file = new URL('../../../sql/marts/VERSION', import.meta.url)
  const version = (await readFile(file, 'utf8')).trim()

  expect(
    await values('select version from ops.mart_version order by built_at desc limit 1'),
  ).toEqual([version])
})
