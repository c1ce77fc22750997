import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet'
import { expect, test } from 'vitest'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { readMart } from '#src/warehouse/marts/mart.ts'
import { parquetChunks } from '#src/warehouse/parquet/chunks.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openDuckDb } from '../lake/duckdb.ts'

/** Writes a view of the schema mart to a file, and reads it with DuckDB. */
async function openFile(view: string) {
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const duck = await openDuckDb()
  const path = join(folder.path, 'mart.parquet')
  await database.pool.query(`create view mart.sample as ${view}`)
  let rows = 0
  await inTransaction(database.pool, async ({ db, client }) => {
    const mart = await readMart(db, 'sample')
    const chunks = async function* () {
      rows = yield* parquetChunks(client, mart)
    }
    await pipeline(chunks(), createWriteStream(path))
  })
  return {
    ...{ pool: database.pool, duck, rows, source: `read_parquet('${path}')` },
    metadata: await parquetMetadataAsync(await asyncBufferFromFile(path)),
    [Symbol.asyncDispose]: async () => {
      await duck[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

const kinds = {
  flag: 'boolean',
  small: 'smallint',
  whole: 'integer',
  long: 'bigint',
  day: 'date',
  at: 'timestamptz',
  local: 'timestamp',
  code: 'varchar(12)',
  note: 'text',
  number: 'uuid',
  record: 'jsonb',
  price: 'numeric(15,3)',
  share: 'numeric(5,4)',
  units: 'numeric(18,0)',
  great: 'numeric(38,3)',
  open: 'numeric',
  ratio: 'double precision',
}

/** Every value that is special for its type, with a null. */
const special: Readonly<Record<keyof typeof kinds, readonly string[]>> = {
  flag: ['true', 'false'],
  small: ['-32768', '32767', '0'],
  whole: ['-2147483648', '2147483647', '0'],
  long: ['-9223372036854775808', '9223372036854775807', '9007199254740993', '-1', '4294967296'],
  day: ['infinity', '-infinity', '0001-01-01', '9999-12-31', '1969-12-31', '2026-02-28'],
  at: [
    ...['infinity', '-infinity', '0001-01-01 00:00:00+00', '9999-12-31 23:59:59.999999+00'],
    ...['1969-12-31 23:59:59.999999+00', '2026-03-01 00:00:00.123456+00'],
    ...['1700-01-01 00:00:00.000001+00', '1714-07-30 00:12:25.259007+00'],
  ],
  local: ['2026-03-01 02:30:00.000001', '0001-01-01 00:00:00'],
  code: ['', 'AUD', 'ضوء', '🚗', 'a'],
  note: ['=1+1', `${'long '.repeat(50_000)}`, 'zero', "quote ' and \n line"],
  number: ['6d1f0c1e-8a0b-4b5e-9c55-0f3f5a9d7e10'],
  record: ['{"a": [1, null, "x"]}', 'null', '[]'],
  price: ['NaN', '999999999999.999', '-999999999999.999', '0.001', '-0.001', '10000', '0'],
  share: ['0.0001', '9.9999', '-9.9999', '1'],
  units: ['999999999999999999', '-999999999999999999', '9007199254740993', '1'],
  great: ['NaN', '99999999999999999999999999999999999.999', '-12345678901234567890.123', '0.001'],
  open: ['NaN', 'Infinity', '0.3333333333333', '12345678901234567890123456789', '-1e-9', '1e20'],
  ratio: ['NaN', '0.1', '-1e300', '5e-324', '0'],
}

test('every special value is read back exactly; what Parquet cannot express is null', async () => {
  const all = Object.entries(special).flatMap(([name, values]) =>
    values.map((value, at) => {
      const columns = Object.entries(kinds).map(([column, kind]) =>
        column === name
          ? `'${value.replaceAll("'", "''")}'::${kind} as ${column}`
          : `null::${kind}`,
      )
      return `select ${at} as no, '${name}' as kind, ${columns.join(', ')}`
    }),
  )
  const empty = `select 0 as no, 'none' as kind, ${Object.entries(kinds).map(([name, kind]) => `null::${kind} as ${name}`)}`
  await using file = await openFile([empty, ...all].join(' union all '))

  const inDuck: Partial<Record<string, string>> = {
    day: "strftime(day, '%Y-%m-%d')",
    at: 'epoch_us("at")::varchar',
  }
  const inPostgres: Partial<Record<string, string>> = {
    day: "case when isfinite(day) then to_char(day, 'YYYY-MM-DD') end",
    at: 'case when isfinite(at) then (extract(epoch from at) * 1000000)::bigint::text end',
    price: "nullif(price, 'NaN')::text",
    great: "nullif(great, 'NaN')::text",
    open: "case when open not in ('NaN', 'Infinity') then round(open, 9)::text end",
    ratio: 'lower(ratio::text)',
  }
  for (const name of Object.keys(kinds)) {
    const duck = await file.duck.rows(
      `select no::int as no, ${inDuck[name] ?? (name === 'ratio' ? 'ratio::varchar' : `"${name}"::varchar`)} as value from ${file.source} where kind = '${name}' order by no`,
    )
    const { rows } = await file.pool.query(
      `select no, ${inPostgres[name] ?? `${name}::text`} as value from mart.sample where kind = $1 order by no`,
      [name],
    )
    const normal = (value: unknown) =>
      name === 'ratio' && value !== null
        ? String(Number(String(value).replace('nan', 'NaN')))
        : value
    expect([name, duck.map((row) => normal(row['value']))]).toEqual([
      name,
      rows.map((row) => normal(row.value)),
    ])
  }
  const nulls = await file.duck.rows(
    `select ${Object.keys(kinds).map((name) => `"${name}" is null as "${name}"`)} from ${file.source} where kind = 'none'`,
  )
  expect(Object.values(nulls[0]!)).toEqual(Object.keys(kinds).map(() => true))
})

test('many rows of few and of many different values are read back, group by group', {
  tags: 'ci',
}, async () => {
  const rows = 150_000
  await using file = await openFile(
    `select n as no, case when n % 3 > 0 then (n % 5)::text end as few, md5(n::text) as many,
       case when n < 80000 then 'same' else md5(n::text) end as later, case when n % 7 > 0 then n end as gaps,
       n % 2 = 0 as flag, (n * 1.001)::numeric(12,3) as price, case when n > 70000 then n::bigint end as late,
       case when n % 9 > 0 then left(repeat(md5((n % 20000)::text), 3), n % 90) end as width
     from generate_series(1, ${rows}) as n`,
  )

  expect(file.rows).toBe(rows)
  expect(file.metadata.row_groups.map(({ num_rows: count }) => Number(count))).toEqual([
    ...[65_536, 65_536, 18_928],
  ])
  const digest = (text: string) =>
    `select count(*)::int as rows, ${[
      'few',
      'many',
      'later',
      'gaps',
      'flag',
      'price',
      'late',
      'width',
    ]
      .map(
        (name) =>
          `count(${name})::int as n_${name}, md5(string_agg(${name}::${text}, ',' order by no)) as ${name}`,
      )
      .join(', ')} from`
  const [ours] = await file.duck.rows(`${digest('varchar')} ${file.source}`)
  const { rows: theirs } = await file.pool.query(`${digest('text')} mart.sample`)
  expect(ours).toEqual(theirs[0])
  // Texts that are mostly different have no dictionary: it would be as large as they are.
  const encodings = file.metadata.row_groups.map(({ columns }) =>
    columns.slice(1, 4).map(({ meta_data: data }) => data!.encodings.includes('RLE_DICTIONARY')),
  )
  expect(encodings).toEqual([
    [true, false, true],
    [true, false, false],
    [true, false, false],
  ])
})

test('a column has the type of its mart, a page of version 1, and its least and greatest value', async () => {
  await using file = await openFile(
    `select 7 as whole, 5::bigint as long, date '2026-03-01' as day, timestamptz '2026-03-01 00:00:00.000001+00' as at,
       'x'::varchar(3) as text, 1.5::numeric(15,3) as price, 1.5::numeric(38,3) as great, true as flag, 0.1::float8 as share`,
  )

  const columns = file.metadata.schema
    .slice(1)
    .map(({ name, type, logical_type: logical }) =>
      [name, type, logical?.type ?? ''].join(' ').trim(),
    )
  expect(columns).toEqual([
    ...['whole INT32', 'long INT64', 'day INT32 DATE', 'at INT64 TIMESTAMP'],
    ...['text BYTE_ARRAY STRING', 'price INT64 DECIMAL', 'great FIXED_LEN_BYTE_ARRAY DECIMAL'],
    ...['flag BOOLEAN', 'share DOUBLE'],
  ])
  const chunks = file.metadata.row_groups[0]!.columns.map(({ meta_data: data }) => data!)
  expect(new Set(chunks.map(({ codec }) => codec))).toEqual(new Set(['ZSTD']))
  expect(chunks.slice(0, 2).map(({ statistics }) => statistics)).toMatchObject([
    { min_value: 7, max_value: 7, null_count: 0n },
    { min_value: 5n, max_value: 5n, null_count: 0n },
  ])
  expect(chunks[4]!.statistics?.min_value).toBeUndefined()
})

test('a mart without rows is a file without rows', async () => {
  await using file = await openFile('select 1 as whole, 2::bigint as long where false')

  expect(await file.duck.rows(`select count(*)::int as rows from ${file.source}`)).toEqual([
    { rows: 0 },
  ])
  expect([file.rows, file.metadata.schema.length]).toEqual([0, 3])
})

test('who stops reading half-way leaves a connection that works', async () => {
  await using database = await createTestDatabase()
  await database.pool.query(
    'create view mart.sample as select md5(n::text) as text from generate_series(1, 400000) as n',
  )

  const rows = await inTransaction(database.pool, async ({ db, client }) => {
    const chunks = parquetChunks(client, await readMart(db, 'sample'))
    await chunks.next()
    await chunks.return(0)
    return (await client.query('select 1 as one')).rows
  })

  expect(rows).toEqual([{ one: 1 }])
}, 20_000)
