import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Mart, MartColumn, MartRow } from './mart.ts'

/** Rows that are held and compressed at a time. */
const rowsOfAGroup = 20_000
/** Precision for a `numeric` without one, as in sums and means of a view. */
const openPrecision = { precision: 38, scale: 9 }

type Cell = string | number | bigint | boolean | null

interface ParquetType {
  readonly element: Omit<SchemaElement, 'name'>
  /** SQL for the text that `read` parses. */
  readonly expression: (column: string) => string
  readonly read: (text: string) => Cell
}

/** SQL that turns a column into the text that `writeParquet` reads. */
export function parquetExpression(column: MartColumn, quoted: string): string {
  return typeOf(column).expression(quoted)
}

/** Writes a mart as Parquet to a file: Snappy, UTC, exact decimals. Returns the number of rows. */
export async function writeParquet(
  file: string,
  mart: Mart,
  pages: AsyncIterable<readonly MartRow[]>,
): Promise<number> {
  let rows = 0
  const counted = async function* () {
    for await (const page of pages) {
      rows += page.length
      yield page
    }
  }
  await pipeline(parquetChunks(mart, counted()), createWriteStream(file))
  return rows
}

/** The bytes of a mart as Parquet, a group of rows at a time: no byte depends on a later one. */
export async function* parquetChunks(
  { columns }: Mart,
  pages: AsyncIterable<readonly MartRow[]>,
): AsyncGenerator<Buffer> {
  const types = columns.map((column) => ({ name: column.name, ...typeOf(column) }))
  const schema: SchemaElement[] = [
    { name: 'mart', num_children: types.length },
    ...types.map(({ name, element }) => ({
      name,
      repetition_type: 'OPTIONAL' as const,
      ...element,
    })),
  ]
  const bytes = new ByteWriter()
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'forecourt' })
  const written = () => {
    const chunk = Buffer.from(bytes.getBytes())
    bytes.index = 0
    return chunk
  }
  let group: MartRow[] = []
  const flush = async () => {
    const columnData = types.map(({ name, read }) => ({
      name,
      data: group.map((row) => {
        const text = row[name] ?? null
        return text === null ? null : read(text)
      }),
    }))
    await writer.write({ columnData, rowGroupSize: rowsOfAGroup })
    group = []
    return written()
  }
  for await (const page of pages) {
    group.push(...page)
    if (group.length >= rowsOfAGroup) yield await flush()
  }
  if (group.length > 0) yield await flush()
  await writer.finish()
  yield written()
}

function typeOf(column: MartColumn): ParquetType {
  if (column.type === 'numeric') return decimalType(column)
  return types[column.type] ?? textType
}

function plain(element: ParquetType['element'], read: ParquetType['read']): ParquetType {
  return { element, expression: (column) => column, read }
}

const textType = plain(
  { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  (text) => text,
)

const types: Readonly<Record<string, ParquetType>> = {
  boolean: plain({ type: 'BOOLEAN' }, (text) => text === 'true'),
  smallint: plain({ type: 'INT32' }, Number),
  integer: plain({ type: 'INT32' }, Number),
  bigint: plain({ type: 'INT64' }, BigInt),
  real: plain({ type: 'DOUBLE' }, Number),
  'double precision': plain({ type: 'DOUBLE' }, Number),
  date: {
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    expression: (column) => `case when isfinite(${column}) then ${column} - date '1970-01-01' end`,
    read: Number,
  },
  'timestamp with time zone': timestampType(true),
  'timestamp without time zone': timestampType(false),
}

function timestampType(isAdjustedToUTC: boolean): ParquetType {
  const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'MICROS' } as const
  return {
    element: { type: 'INT64', logical_type },
    expression: (column) =>
      `case when isfinite(${column}) then (extract(epoch from ${column}) * 1000000)::bigint end`,
    read: BigInt,
  }
}

function decimalType({ precision, scale }: MartColumn): ParquetType {
  const digits = precision === null || scale === null ? openPrecision : { precision, scale }
  const size =
    digits.precision <= 18
      ? ({ type: 'INT64' } as const)
      : ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const)
  return {
    element: {
      ...size,
      ...digits,
      converted_type: 'DECIMAL',
      logical_type: { type: 'DECIMAL', ...digits },
    },
    expression: (column) => `round(nullif(${column}, 'NaN'), ${digits.scale})`,
    // The digits without the point: a float would not be exact.
    read: (text) => BigInt(text.replace('.', '')),
  }
}
