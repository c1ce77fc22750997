import type pg from 'pg'

/** A query of a view and its time limit; null: measured without a limit. */
export interface MartQuery {
  readonly view: string
  readonly what: 'limit 0' | 'where 1=0' | 'rooftop-month' | 'all, a year'
  readonly sql: string
  readonly mostMs: number | null
}

/** The parameters of the queries: a rooftop and its group, a month, and the year that ends with it. */
interface Place {
  readonly rooftop_id: number
  readonly group_code: string
  readonly month: string
  readonly month_end: string
  readonly year: string
}

const emptyMs = 25
const monthMs = 100
const yearMs = 2000
/** Columns by which a view is filtered by time; the first that it has counts. */
const timeColumns = ['month_start', 'completed_date', 'acquired_on']
const instantColumns = ['valid_from', 'completed_at', 'observed_at', 'searched_at', 'first_seen_at']

/** Four queries of every view of the marts: only its columns (twice), a rooftop-month, and a year of all rooftops. */
export async function martQueries(pool: pg.Pool): Promise<MartQuery[]> {
  const place = await chosenPlace(pool)
  const { rows } = await pool.query<{ view: string; columns: string[] }>(
    `select table_name as view, array_agg(column_name::text order by ordinal_position) as columns
     from information_schema.columns where table_schema = 'mart' group by 1 order by 1`,
  )
  return rows.flatMap(({ view, columns }) => queriesOf(view, new Set(columns), place))
}

function queriesOf(view: string, columns: ReadonlySet<string>, place: Place): MartQuery[] {
  const isReport = view.startsWith('rpt_')
  const from = `select * from mart.${view}`
  return [
    { view, what: 'limit 0', sql: `${from} limit 0`, mostMs: emptyMs },
    { view, what: 'where 1=0', sql: `${from} where 1=0`, mostMs: emptyMs },
    {
      view,
      what: 'rooftop-month',
      sql:
        from +
        where([rooftopFilter(columns, place), timeFilter(columns, place.month, place.month_end)]),
      mostMs: isReport ? monthMs : null,
    },
    {
      view,
      what: 'all, a year',
      sql: from + where([timeFilter(columns, place.year, place.month_end)]),
      mostMs: isReport ? yearMs : null,
    },
  ]
}

function rooftopFilter(columns: ReadonlySet<string>, place: Place): string | null {
  if (columns.has('rooftop_id')) return `rooftop_id = ${place.rooftop_id}`
  return columns.has('group_code') ? `group_code = '${place.group_code}'` : null
}

function timeFilter(columns: ReadonlySet<string>, from: string, until: string): string | null {
  const column = [...timeColumns, ...instantColumns].find((name) => columns.has(name))
  if (column === undefined) return null
  // A report by month is filtered by its month, as a dashboard does.
  if (column === 'month_start' && isNextMonth(from, until)) return `month_start = '${from}'`
  return `${column} >= '${from}' and ${column} < '${until}'`
}

function isNextMonth(from: string, until: string): boolean {
  const [year, month] = from.split('-').map(Number)
  return until === new Date(Date.UTC(year!, month!, 1)).toISOString().slice(0, 10)
}

function where(conditions: readonly (string | null)[]): string {
  const given = conditions.filter((condition) => condition !== null)
  return given.length === 0 ? '' : ` where ${given.join(' and ')}`
}

async function chosenPlace(pool: pg.Pool): Promise<Place> {
  const { rows } = await pool.query<Place>(
    `select r.rooftop_id, g.group_code, to_char(month, 'YYYY-MM-DD') as month,
       to_char(month + interval '1 month', 'YYYY-MM-DD') as month_end,
       to_char(month - interval '11 months', 'YYYY-MM-DD') as year
     from core.rooftop as r join core.rooftop_group as g using (group_id)
     cross join (select date_trunc('month', now() - interval '1 month') as month) as last_month
     order by rooftop_id offset 4 limit 1`,
  )
  return rows[0]!
}

/** Milliseconds for planning and running a query to its last row in the server, without sending rows. */
export async function timeQuery(client: pg.ClientBase, { sql, what }: MartQuery): Promise<number> {
  if (what === 'limit 0' || what === 'where 1=0') {
    const startedAt = performance.now()
    await client.query(sql)
    return performance.now() - startedAt
  }
  const { rows } = await client.query<{ 'QUERY PLAN': readonly ServerTimes[] }>(
    `explain (analyze, timing off, buffers off, format json) ${sql}`,
  )
  const times = rows[0]!['QUERY PLAN'][0]!
  return times['Planning Time'] + times['Execution Time']
}

interface ServerTimes {
  readonly 'Planning Time': number
  readonly 'Execution Time': number
}
