import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/transaction.ts'
import type { ChartSpec, ReportSpec } from './spec.ts'

/** A rooftop that a report can be limited to. */
export interface RooftopChoice {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly group: string
}

/** What a report is limited to. `month`: `2026-11`; left out: the last 12 months. */
export interface ReportFilter {
  readonly group: string
  readonly rooftop: string
  readonly month: string
}

/** A column of a view, as the data dictionary describes it. */
export interface ReportColumn {
  readonly name: string
  readonly type: string
  readonly unit: string
  readonly description: string
}

/** A row of a chart: of one currency, at one `x`, of one series of `by`. */
export interface ChartRow {
  readonly currency: string | null
  /** Of a rooftop its id. */
  readonly x: string
  readonly by: string | null
  /** In the order of the names of `y`; of a range: the values that 10 %, 50 % and 90 % are below. */
  readonly values: readonly (number | null)[]
  readonly count: number
}

/** A cell as Postgres writes it; instants as ISO 8601. */
export type ReportRow = Readonly<Record<string, string | number | boolean | null>>

/** Rows of the table of a report. */
export const shownRows = 50
/** Rows are counted up to here. */
export const countedRows = 10_000

export async function readRooftops(db: Db): Promise<RooftopChoice[]> {
  const { rows } = await sql<RooftopChoice>`
    select rooftop_id as id, rooftop_uid as uid, rooftop_name as name, group_code as "group"
    from mart.dim_rooftop order by rooftop_name, rooftop_id`.execute(db)
  return rows
}

/** What the data dictionary says of a view: the first row is of the view itself. */
export async function readColumns(db: Db, view: string): Promise<ReportColumn[]> {
  const { rows } = await sql<ReportColumn>`
    select coalesce(column_name, '') as name, coalesce(data_type, '') as type, coalesce(unit, '') as unit, description
    from mart.data_dictionary where view_name = ${view} order by position`.execute(db)
  return rows
}

/** The SQL condition of a filter. The rooftops are those that it lets through. */
export function conditionOf(
  columns: readonly ReportColumn[],
  { group, rooftop, month }: ReportFilter,
  rooftops: readonly RooftopChoice[],
): RawBuilder<unknown> {
  const has = (name: string) => columns.some((column) => column.name === name)
  const parts = [sql`true`]
  if (has('rooftop_id') && group + rooftop !== '')
    parts.push(sql`rooftop_id = any(${rooftops.map(({ id }) => id)}::int[])`)
  if (has('group_code') && group !== '') parts.push(sql`group_code = ${group}`)
  if (has('month_start'))
    parts.push(
      month === ''
        ? sql`month_start > date_trunc('month', now())::date - interval '12 months'`
        : sql`month_start = ${`${month}-01`}::date`,
    )
  return sql.join(parts, sql` and `)
}

const expressions: Readonly<Partial<Record<ChartSpec['x'], string>>> = {
  rooftop: 'rooftop_id',
  month: 'month_start',
  week: "date_trunc('week', completed_date::timestamp)::date",
}

/** The rows of a chart, summed by the database. */
export async function readChart(
  db: Db,
  view: string,
  chart: ChartSpec,
  condition: RawBuilder<unknown>,
): Promise<ChartRow[]> {
  const from = sql.table(`mart.${view}`)
  const currency = chart.unit === 'currency' ? sql`currency_code::text` : sql`null::text`
  const x = sql.raw(expressions[chart.x] ?? chart.x)
  const by = chart.by === undefined ? sql`null::text` : sql`(${sql.raw(chart.by)})::text`
  const isTime = chart.x === 'month' || chart.x === 'week'
  const newest = sql`and month_start = (select max(month_start) from ${from} where ${condition})`
  const { rows } = await sql<ChartRow>`
    select ${currency} as currency, coalesce((${x})::text, 'unknown') as x, ${by} as by, ${valuesOf(chart)} as values,
      count(${sql.raw(chart.value ?? '*')})::int as count
    from ${from} where ${condition} ${chart.newestMonth === true ? newest : sql``}
    group by 1, 2, 3
    ${chart.value === undefined ? sql`` : sql`having count(${sql.raw(chart.value)}) > 0`}
    order by 1, ${isTime ? sql`2` : sql`(${valuesOf(chart)})[1] desc nulls last, 2`}, 3
    limit 2000`.execute(db)
  return rows
}

function valuesOf({ y = {}, value }: ChartSpec): RawBuilder<unknown> {
  if (value !== undefined)
    return sql`percentile_cont(array[0.1, 0.5, 0.9]) within group (order by (${sql.raw(value)})::float8)`
  return sql`array[${sql.join(Object.values(y).map((one) => sql`(${sql.raw(one)})::float8`))}]`
}

/** The first rows of a report, and how many there are, counted up to `countedRows`. */
export async function readRows(
  db: Db,
  { view, columns, first }: ReportSpec,
  known: readonly ReportColumn[],
  condition: RawBuilder<unknown>,
): Promise<{ rows: ReportRow[]; total: number }> {
  const from = sql.table(`mart.${view}`)
  const keys = known.some(({ name }) => name === 'rooftop_id') ? ['rooftop_id'] : []
  const names = [...keys, ...columns.split(' ')].map((name) => sql.ref(name))
  const { rows } = await sql<ReportRow>`
    select ${sql.join(names)} from ${from} where ${condition}
    order by ${sql.raw(first[1])} limit ${shownRows}`.execute(db)
  if (rows.length < shownRows) return { rows, total: rows.length }
  const counted = await sql<{ total: number }>`
    select count(*)::int as total from (select from ${from} where ${condition} limit ${countedRows + 1}) as counted`.execute(
    db,
  )
  return { rows, total: counted.rows[0]!.total }
}
