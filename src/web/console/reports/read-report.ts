import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../warehouse/db/transaction.ts'
import type { ChartSpec, ReportSpec } from './spec.ts'

/** A rooftop that a report can be limited to. */
export interface RooftopChoice {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly group: string
}

/** What a report is limited to. `month`: `2026-11`; empty: the last `months`. */
export interface ReportFilter {
  readonly group: string
  readonly rooftop: string
  readonly month: string
  readonly months: number
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

/** A row of the table of a report. */
export type ReportRow = Readonly<Record<string, string | number | boolean | null>>

/** Rows of the table of a report. */
const shownRows = 50

/** Rooftops that a long report is read of; where there are more, it is of one. */
export const maxRooftops = 8

/** The rooftops that a report is of. */
export function chosenRooftops(
  { isLong }: ReportSpec,
  rooftops: readonly RooftopChoice[],
  { group, rooftop }: ReportFilter,
): readonly RooftopChoice[] {
  const chosen = rooftops.filter(
    (one) => (rooftop === '' || one.uid === rooftop) && (group === '' || one.group === group),
  )
  return isLong === true && chosen.length > maxRooftops ? chosen.slice(0, 1) : chosen
}

export async function readRooftops(db: Db): Promise<RooftopChoice[]> {
  const { rows } = await sql<RooftopChoice>`
    select rooftop_id as id, rooftop_uid as uid, rooftop_name as name, group_code as "group"
    from mart.dim_rooftop order by rooftop_name, rooftop_id`.execute(db)
  return rows
}

/** A span of time. */
export interface Span {
  readonly from: Date
  readonly until: Date
}

/** The spans in which all these rooftops had their evaluations listed: outside of them a missing row is not a 0. */
export async function readListed(db: Db, rooftopIds: readonly number[]): Promise<Span[]> {
  const { rows } = await sql<Span>`
    select coalesce(lower(span), 'epoch') as "from", coalesce(upper(span), now()) as until
    from unnest((
      select range_intersect_agg(coalesce(listed, '{}')) from core.stream_status join core.rooftop using (rooftop_id)
      where stream = 'evaluations' and rooftop_id = any(${[...rooftopIds]}::int[]) and left_config_at is null
    )) as span`.execute(db)
  return rows
}

/** What the data dictionary says of a view: the first row is of the view itself. */
export async function readColumns(db: Db, view: string): Promise<ReportColumn[]> {
  const { rows } = await sql<ReportColumn>`
    select coalesce(column_name, '') as name, coalesce(data_type, '') as type, coalesce(unit, '') as unit, description
    from mart.data_dictionary where view_name = ${view} order by position`.execute(db)
  return rows
}

/** The rows of a view that a filter lets through, with these columns. A long report is read rooftop by rooftop, because a view can
 *  leave out the units and evaluations of others only where it is asked for one. */
export function chosenRows(
  { view, isLong, late }: ReportSpec,
  columns: readonly ReportColumn[],
  { month, months }: ReportFilter,
  rooftops: readonly RooftopChoice[],
): (names: readonly string[]) => RawBuilder<unknown> {
  const has = (name: string) => columns.some((column) => column.name === name)
  const ids = sql`${rooftops.map(({ id }) => id)}::int[]`
  const groups = [...new Set(rooftops.map((rooftop) => rooftop.group))]
  const isByRooftop = isLong === true && has('rooftop_id')
  const parts = [sql`true`]
  if (has('rooftop_id'))
    parts.push(isByRooftop ? sql`rooftop_id = own_id` : sql`rooftop_id = any(${ids})`)
  else if (has('group_code')) parts.push(sql`group_code = any(${groups}::text[])`)
  if (has('month_start'))
    parts.push(
      month === ''
        ? sql`month_start > (date_trunc('month', now()) - make_interval(months => ${months}))::date`
        : // With an equation Postgres would keep the join that only the late columns need.
          late === undefined
          ? sql`month_start = ${`${month}-01`}::date`
          : sql`month_start between ${`${month}-01`}::date and ${`${month}-01`}::date`,
    )
  return (names) => {
    const query = sql`select ${columnList(names)} from ${sql.table(`mart.${view}`)} where ${sql.join(parts, sql` and `)}`
    return isByRooftop
      ? // offset 0 changes nothing, but makes the rooftop a value inside of the view.
        sql`select own.* from unnest(${ids}) as own_id cross join lateral (${query} offset 0) as own`
      : query
  }
}

function columnList(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(name)))
}

const expressions: Readonly<Partial<Record<ChartSpec['x'], string>>> = {
  rooftop: 'rooftop_id',
  month: 'month_start',
  week: "date_trunc('week', completed_date::timestamp)::date",
}

/** The rows of the charts of a report, its first rows, and how many it has. */
interface ReportFigures {
  readonly charts: readonly (readonly ChartRow[])[]
  readonly rows: readonly ReportRow[]
  readonly total: number
}

/** Reads a report in one statement, because most views sum what they read and would do so for each chart again. */
export async function readFigures(
  db: Db,
  spec: ReportSpec,
  known: readonly ReportColumn[],
  chosen: (names: readonly string[]) => RawBuilder<unknown>,
): Promise<ReportFigures> {
  const late = spec.late?.columns.split(' ') ?? []
  const text = JSON.stringify(spec)
  const used = known.flatMap(({ name }) =>
    !late.includes(name) && new RegExp(`\\b(${name})\\b`).test(`${text} rooftop_id month_start`)
      ? [name]
      : [],
  )
  const shown = known.some(({ name }) => name === 'rooftop_id')
    ? ['rooftop_id', ...spec.columns.split(' ')]
    : spec.columns.split(' ')
  const charts = spec.charts.map((chart) => listQuery(chartQuery(chart)))
  const order = sql.raw(spec.first[1])
  const { rows } = await sql<ReportFigures>`
    with chosen as materialized (${chosen(used)})
    select json_build_array(${sql.join(charts)}) as charts, (select count(*)::int from chosen) as total,
      ${listQuery(sql`
        select ${columnList(shown)} from (select * from chosen order by ${order} limit ${shownRows}) as first ${lateQuery(spec)} order by ${order}`)} as rows`.execute(
    db,
  )
  return rows[0]!
}

/** SQL that joins the late columns to the rows `first`. */
function lateQuery({ view, late }: ReportSpec): RawBuilder<unknown> {
  if (late === undefined) return sql``
  const key = late.key.split(' ')
  const isSame = sql.join(
    key.map((name) => sql`own.${sql.ref(name)} = first.${sql.ref(name)}`),
    sql` and `,
  )
  // offset 0 makes the key values inside of the view.
  return sql`left join lateral (
    select ${columnList(late.columns.split(' '))} from ${sql.table(`mart.${view}`)} as own where ${isSame} offset 0) as late on true`
}

function listQuery(query: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select coalesce(json_agg(to_json(one)), '[]') from (${query}) as one)`
}

/** The rows of a chart. */
function chartQuery(chart: ChartSpec): RawBuilder<unknown> {
  const currency = chart.unit === 'currency' ? sql`currency_code::text` : sql`null::text`
  const x = sql.raw(expressions[chart.x] ?? chart.x)
  const by = chart.by === undefined ? sql`null::text` : sql`(${sql.raw(chart.by)})::text`
  const newest = sql`where month_start = (select max(month_start) from chosen)`
  return sql`
    select ${currency} as currency, coalesce((${x})::text, 'unknown') as x, ${by} as by, ${valuesQuery(chart)} as values,
      count(${sql.raw(chart.value ?? '*')})::int as count
    from chosen ${chart.newestMonth === true ? newest : sql``}
    group by 1, 2, 3
    ${chart.value === undefined ? sql`` : sql`having count(${sql.raw(chart.value)}) > 0`}
    order by 1, ${['month', 'week'].includes(chart.x) ? sql`2` : sql`(${valuesQuery(chart)})[1] desc nulls last, 2`}, 3
    limit 2000`
}

function valuesQuery({ y = {}, value }: ChartSpec): RawBuilder<unknown> {
  if (value !== undefined)
    return sql`percentile_cont(array[0.1, 0.5, 0.9]) within group (order by (${sql.raw(value)})::float8)`
  return sql`array[${sql.join(Object.values(y).map((one) => sql`(${sql.raw(one)})::float8`))}]`
}
