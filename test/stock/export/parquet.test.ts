import { join } from 'node:path'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { expect, test } from 'vitest'
import type { MartColumn, MartRow } from '#src/warehouse/marts/mart.ts'
import { parquetExpression, writeParquet } from '#src/warehouse/marts/parquet.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const column = (name: string, type: string, precision: number | null = null): MartColumn => ({
  ...{ name, type, precision, scale: precision === null ? null : 3 },
})
const columns = [
  column('yes', 'boolean'),
  column('int', 'integer'),
  column('long', 'bigint'),
  column('day', 'date'),
  column('at', 'timestamp with time zone'),
  column('text', 'character varying'),
  column('amount', 'numeric', 15),
  column('great', 'numeric', 38),
  column('open', 'numeric'),
  column('share', 'double precision'),
]
const full: MartRow = {
  ...{
    yes: 'true',
    int: '-5',
    long: '9007199254740993',
    day: '20513',
    at: '1772323200123456',
  },
  ...{
    text: 'Café ضوء =1+1',
    amount: '999999999999.999',
    great: '-12345678901234567890.123',
  },
  ...{ open: '0.333333333', share: '0.1' },
}
const empty: MartRow = Object.fromEntries(columns.map(({ name }) => [name, null]))

async function written(pages: readonly (readonly MartRow[])[]) {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'mart.parquet')
  async function* given() {
    yield* pages
  }
  const count = await writeParquet(path, { name: 'mart', columns }, given())
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  return { count, metadata, rows: await parquetReadObjects({ file }) }
}

test('every type of a mart is read back from Parquet exactly', async () => {
  const { count, rows } = await written([[full], [empty]])

  expect(count).toBe(2)
  expect(rows).toEqual([
    {
      ...{
        yes: true,
        int: -5,
        long: 9007199254740993n,
        day: new Date('2026-03-01'),
      },
      ...{ at: new Date('2026-03-01T00:00:00.123Z'), text: 'Café ضوء =1+1' },
      ...{
        amount: 999999999999.999,
        great: Number('-12345678901234567890.123'),
        open: 0.333333333,
      },
      share: 0.1,
    },
    empty,
  ])
})

test("the file's columns have the mart's types", async () => {
  const { metadata } = await written([[full]])

  const columns = metadata.schema
    .slice(1)
    .map(({ name, type, logical_type: logical }) =>
      [name, type, logical?.type ?? '', 'precision' in (logical ?? {}) ? 'exact' : '']
        .join(' ')
        .trim(),
    )
  expect(columns).toEqual([
    ...['yes BOOLEAN', 'int INT32', 'long INT64', 'day INT32 DATE', 'at INT64 TIMESTAMP'],
    ...['text BYTE_ARRAY STRING', 'amount INT64 DECIMAL exact'],
    ...['great FIXED_LEN_BYTE_ARRAY DECIMAL exact', 'open FIXED_LEN_BYTE_ARRAY DECIMAL exact'],
    'share DOUBLE',
  ])
})

test('a mart without rows is a file without rows', async () => {
  const { count, rows, metadata } = await written([])

  expect([count, rows, metadata.schema.length]).toEqual([0, [], columns.length + 1])
})

test('many rows are written in groups and read back in their order', async () => {
  const page = (from: number) =>
    Array.from({ length: 2000 }, (_, at): MartRow => ({ ...empty, int: String(from + at) }))

  const { rows, metadata } = await written(Array.from({ length: 25 }, (_, at) => page(at * 2000)))

  expect(rows.map((row) => row['int'])).toEqual(Array.from({ length: 50_000 }, (_, at) => at))
  expect(metadata.row_groups.map(({ num_rows: count }) => Number(count))).toEqual([
    ...[20_000, 20_000, 10_000],
  ])
})

test('values that Parquet cannot express are null', () => {
  expect(parquetExpression(columns[4]!, '"at"')).toContain('isfinite("at")')
  expect(parquetExpression(columns[6]!, '"amount"')).toBe(`round(nullif("amount", 'NaN'), 3)`)
})
