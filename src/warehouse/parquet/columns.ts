import type { SchemaElement } from 'hyparquet'
import type { MartColumn } from '../marts/mart.ts'
import {
  BooleanValues,
  type ColumnValues,
  DecimalValues,
  DoubleValues,
  IntegerValues,
  LongValues,
  TextValues,
  TimestampValues,
  WideDecimalValues,
} from './values.ts'

/** How a column of a mart is written to Parquet. */
export interface ParquetColumn {
  readonly name: string
  readonly element: Omit<SchemaElement, 'name'>
  /** SQL that turns the quoted column into the value that `make` reads in the binary format of COPY. */
  readonly expression: (quoted: string) => string
  readonly make: () => ColumnValues
  /** The name of its type in Delta Lake (PROTOCOL.md, Primitive Types). */
  readonly deltaType: string
  /** Its value as Delta's statistics write it, from the number that `make` compares; `isMin`: round down, else up. null: it has none. */
  readonly statistic: ((value: number, isMin: boolean) => string | null) | null
}

/** Precision for a `numeric` without one, as in sums and means of a view. */
const openPrecision = { precision: 38, scale: 9 }
const dayMs = 86_400_000
/** 0001-01-01 and 9999-12-31: other years have no form in JSON. */
const [firstDay, lastDay] = [-719_162, 2_932_896]

/** Money is exact, instants are in UTC with microseconds. A value that Parquet cannot express (NaN, infinity) is null. */
export function parquetColumn(column: MartColumn): ParquetColumn {
  const { name } = column
  if (column.type === 'numeric') return { name, ...decimal(column) }
  return { name, ...(kinds[column.type] ?? text) }
}

type Kind = Omit<ParquetColumn, 'name'>

const asIs = (quoted: string) => quoted
const asNumber = (value: number) => String(value)

const text: Kind = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  expression: (quoted) => `${quoted}::text`,
  make: () => new TextValues(),
  ...{ deltaType: 'string', statistic: null },
}

const integer: Kind = {
  element: { type: 'INT32' },
  expression: (quoted) => `${quoted}::integer`,
  make: () => new IntegerValues(),
  ...{ deltaType: 'integer', statistic: asNumber },
}

const double: Kind = {
  element: { type: 'DOUBLE' },
  expression: (quoted) => `${quoted}::double precision`,
  make: () => new DoubleValues(),
  ...{ deltaType: 'double', statistic: asNumber },
}

const timestamp: Kind = {
  element: {
    type: 'INT64',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  expression: asIs,
  make: () => new TimestampValues(),
  deltaType: 'timestamp',
  // Statistics have milliseconds.
  statistic: (micros, isMin) => {
    const ms = isMin ? Math.floor(micros / 1000) : Math.ceil(micros / 1000)
    return JSON.stringify(new Date(ms).toISOString())
  },
}

const kinds: Readonly<Record<string, Kind>> = {
  boolean: {
    element: { type: 'BOOLEAN' },
    expression: asIs,
    make: () => new BooleanValues(),
    ...{ deltaType: 'boolean', statistic: null },
  },
  smallint: integer,
  integer,
  bigint: {
    element: { type: 'INT64' },
    expression: asIs,
    make: () => new LongValues(),
    ...{ deltaType: 'long', statistic: asNumber },
  },
  real: double,
  'double precision': double,
  date: {
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    expression: (quoted) => `case when isfinite(${quoted}) then ${quoted} - date '1970-01-01' end`,
    make: () => new IntegerValues(),
    deltaType: 'date',
    statistic: (days) =>
      days < firstDay || days > lastDay
        ? null
        : JSON.stringify(new Date(days * dayMs).toISOString().slice(0, 10)),
  },
  'timestamp with time zone': timestamp,
  // The versions of Delta that every engine reads have no local time: the text is exact.
  'timestamp without time zone': text,
}

function decimal({ precision, scale }: MartColumn): Kind {
  const digits = precision === null || scale === null ? openPrecision : { precision, scale }
  const isLong = digits.precision <= 18
  return {
    element: {
      ...(isLong ? { type: 'INT64' } : { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 }),
      ...digits,
      ...{ converted_type: 'DECIMAL', logical_type: { type: 'DECIMAL', ...digits } },
    },
    expression: (quoted) => `round(${quoted}, ${digits.scale})`,
    make: () => (isLong ? new DecimalValues(digits.scale) : new WideDecimalValues(digits.scale)),
    deltaType: `decimal(${digits.precision},${digits.scale})`,
    statistic: isLong ? (units) => decimalText(units, digits.scale) : null,
  }
}

/** The number of smallest units as a decimal: 12345 with scale 2 is 123.45. */
function decimalText(units: number, scale: number): string {
  const all = String(Math.abs(units)).padStart(scale + 1, '0')
  const point = all.length - scale
  const sign = units < 0 ? '-' : ''
  return `${sign}${all.slice(0, point)}${scale > 0 ? '.' : ''}${all.slice(point)}`
}
