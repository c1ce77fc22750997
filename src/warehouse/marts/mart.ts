import { sql } from 'kysely'
import { UsageError } from '../../errors.ts'
import { knownNames } from '../../values/nearest-name.ts'
import type { Db } from '../db/transaction.ts'

/** A column of a mart. */
export interface MartColumn {
  readonly name: string
  /** As Postgres calls it, without its length: `numeric`, `timestamp with time zone`. */
  readonly type: string
  /** Of a `numeric(p,s)`; null where it has none. */
  readonly precision: number | null
  readonly scale: number | null
}

/** A relation of the schema `mart`. */
export interface Mart {
  readonly name: string
  readonly columns: readonly MartColumn[]
}

/** The names of all marts, sorted. */
export async function readMartNames(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'mart'::regnamespace and relkind in ('v', 'm', 'r', 'p')
    order by 1`.execute(db)
  return rows.map((row) => row.name)
}

/** The mart with that name; else UsageError with the existing names. */
export async function readMart(db: Db, name: string): Promise<Mart> {
  const names = await readMartNames(db)
  if (!names.includes(name)) throw unknownMart(name, names)
  const { rows } = await sql<MartColumn>`
    select attname as name, format_type(atttypid, null) as type,
      case when atttypid = 'numeric'::regtype and atttypmod >= 4 then ((atttypmod - 4) >> 16) & 65535 end as precision,
      case when atttypid = 'numeric'::regtype and atttypmod >= 4 then (atttypmod - 4) & 2047 end as scale
    from pg_attribute
    where attrelid = format('mart.%I', ${name}::text)::regclass and attnum > 0 and not attisdropped
    order by attnum`.execute(db)
  return { name, columns: rows }
}

function unknownMart(name: string, names: readonly string[]): UsageError {
  if (names.length === 0)
    return new UsageError(
      `There is no mart "${name}": the schema mart has no view yet. Bring the warehouse up to date with "forecourt migrate".`,
    )
  return new UsageError(`There is no mart "${name}"${knownNames(name, names)}`)
}

/** A row of `martQuery`. */
export type MartRow = Readonly<Record<string, string | null>>

/** Types whose text is never a formula. */
const plainTypes =
  /^(smallint|integer|bigint|numeric|real|double precision|boolean|date|time.*|uuid)$/

/** Whether its text may be a formula for a spreadsheet. */
export function isTextColumn({ type }: MartColumn): boolean {
  return !plainTypes.test(type)
}

/** SQL for all rows of a mart; `expression` turns a quoted column into the SQL that is read: its text, unless it is given. */
export function martQuery(
  { name, columns }: Mart,
  expression: (column: MartColumn, quoted: string) => string = (_, quoted) => `${quoted}::text`,
): string {
  const list = columns.map((column) => {
    const quoted = quotedName(column.name)
    return `${expression(column, quoted)} as ${quoted}`
  })
  return `select ${list.join(', ')} from mart.${quotedName(name)}`
}

/** A name as an identifier of SQL. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
