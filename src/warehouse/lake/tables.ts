import type pg from 'pg'
import { type Mart, type MartColumn, quotedName, readMart, readMartNames } from '../marts/mart.ts'

/** A mart as the lake has it. */
export interface LakeTable extends Mart {
  /** SQL for the month (YYYY-MM) of a row `t`; null: the table is one file. */
  readonly month: string | null
  /** How `month` is found, for the manifest. */
  readonly monthOf: string | null
  /** SQL after `from`: the mart as `t`, and what `month` needs. */
  readonly source: string
}

/** Marts that are about customers. */
const customerMarts = ['dim_customer_masked']
/** Columns that are about customers, in whatever mart. */
const customerColumn = /^(customer|phone|email|address|postcode|suburb)(_|$)/

/** The dates that a row has itself, the best first. Without one it has the month of its evaluation. */
const ownDates = ['month_start', 'completed_date', 'acquired_on', 'moved_on']
const ownInstants = ['observed_at', 'first_seen_at']

/** The facts, dimensions and reports that are exported, sorted by name. */
export async function readLakeTables(client: pg.ClientBase): Promise<readonly LakeTable[]> {
  const tables: LakeTable[] = []
  for (const name of await readMartNames(client)) {
    if (customerMarts.includes(name)) continue
    const { columns } = await readMart(client, name)
    tables.push(lakeTable(name, columns))
  }
  return tables
}

/** A table of evaluations or stock units has a file for each rooftop and month. Any other is small: one file. */
export function lakeTable(name: string, all: readonly MartColumn[]): LakeTable {
  const columns = all.filter((column) => !customerColumn.test(column.name))
  const has = (column: string) => columns.some((one) => one.name === column)
  const mart = `mart.${quotedName(name)} as t`
  const isLarge = has('rooftop_id') && (has('eval_id') || has('stock_no'))
  const date = ownDates.find(has)
  if (isLarge && date !== undefined)
    return { name, columns, ...ownMonth(date, `t.${date}`), source: mart }
  if (isLarge && has('eval_id')) {
    const join =
      'left join mart.fact_evaluation as e on e.rooftop_id = t.rooftop_id and e.eval_id = t.eval_id'
    const month = ownMonth('fact_evaluation.completed_date', 'e.completed_date')
    return { name, columns, ...month, source: `${mart} ${join}` }
  }
  const instant = ownInstants.find(has)
  if (isLarge && instant !== undefined)
    return { name, columns, ...ownMonth(instant, `t.${instant} at time zone 'UTC'`), source: mart }
  return { name, columns, month: null, monthOf: null, source: mart }
}

function ownMonth(monthOf: string, expression: string) {
  return { monthOf, month: `to_char(${expression}, 'YYYY-MM')` }
}
