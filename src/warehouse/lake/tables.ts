import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { UsageError } from '../../errors.ts'
import type { Db } from '../db/transaction.ts'
import { type MartColumn, quotedName, readMart, readMartNames } from '../marts/mart.ts'
import { type ParquetColumn, parquetColumn } from '../parquet/columns.ts'
import type { MetaData } from './delta-actions.ts'
import { exportTable, ownerSetting } from './lake-state.ts'
import { monthColumn } from './paths.ts'

/** A column of a table, in Postgres and in its files. */
interface LakeColumn extends ParquetColumn {
  /** As Postgres calls its type: a change writes the table again. */
  readonly sqlType: string
  readonly comment: string | null
}

/** A table of the lake: a mart, or the table `export`. */
export interface LakeTable {
  readonly name: string
  readonly comment: string | null
  readonly columns: readonly LakeColumn[]
  /** SQL for the month (YYYY-MM) of a row `t`; null: the table is not partitioned. */
  readonly month: string | null
  /** SQL for the rows of a month, which an index can find. */
  readonly inMonth: (month: string) => string
  /** SQL after `from`: the rows as `t`, and what `month` needs. */
  readonly source: string
  /** SQL after `order by`, so that a group of rows has neighbours; null: any order. */
  readonly order: string | null
}

/** Marts that are about customers. */
const customerMarts = ['dim_customer_masked']
/** Columns that are about customers, in whatever mart. */
const customerColumn = /^(customer|phone|email|address|postcode|suburb)(_|$)/

/** Columns with the time of the last confirmation of prices. They would write the months of a year again each night, so a lake has them in
 *  `fact_price_confirmation` and `fact_stock_price_confirmation` alone. */
const confirmationColumns: Readonly<Record<string, readonly string[]>> = {
  fact_price_observation: ['last_confirmed_at'],
  fact_stock_price_observation: ['last_confirmed_at'],
  evaluation_wide: ['priced_last_at'],
  rpt_08_pricing_coverage: ['average_age_days', 'oldest_confirmed_at'],
}

/** Engines take no difference of case, and some no other signs. */
const plainColumn = /^[a-z_][a-z\d_]*$/

/** The dates that a row has itself, the best first. Without one it has the month of its evaluation. */
const dateColumns = ['month_start', 'completed_date', 'acquired_on', 'moved_on']
const instantColumns = ['observed_at', 'first_seen_at']
const keys = ['eval_id', 'stock_no']

/** Tables of other rows that are partitioned too, since the warehouse names the months in which they change. */
export const monthly = [
  ...['dim_vehicle', 'rpt_02_look_to_book', 'rpt_03_recon_drift', 'rpt_04_time_to_complete'],
  ...['rpt_07_photo_completeness', 'rpt_10_appraisal_volume', 'rpt_11_post_completion_changes'],
  'rpt_14_link_capture_funnel',
]

/** The facts, dimensions and reports that are exported, sorted by name. */
export async function readLakeTables(db: Db): Promise<readonly LakeTable[]> {
  const comments = await readComments(db)
  const tables: LakeTable[] = []
  for (const name of await readMartNames(db)) {
    if (customerMarts.includes(name)) continue
    const { columns } = await readMart(db, name)
    tables.push(lakeTable(name, columns, comments.get(name)))
  }
  return tables
}

/** What the dictionary says of a mart and of its columns. */
type Comments = Readonly<Record<string, string>>

async function readComments(db: Db): Promise<ReadonlyMap<string, Comments>> {
  const { rows } = await sql<{ view: string; comments: Comments }>`
    select view_name as view, json_object_agg(coalesce(column_name, ''), coalesce(description, '')) as comments
    from mart.data_dictionary group by view_name`.execute(db)
  return new Map(rows.map(({ view, comments }) => [view, comments]))
}

/** A table of evaluations or stock units is partitioned by month, and so are `monthly`. Any other is not. */
export function lakeTable(
  name: string,
  all: readonly MartColumn[],
  comments: Comments = {},
): LakeTable {
  const columns = all
    .filter((column) => !customerColumn.test(column.name))
    .filter((column) => !confirmationColumns[name]?.includes(column.name))
    .map((column) => ({
      ...parquetColumn(column),
      sqlType: [column.type, column.precision, column.scale]
        .filter((one) => one !== null)
        .join(','),
      comment: comments[column.name] || null,
    }))
  const odd = columns.find(
    (column) => !plainColumn.test(column.name) || column.name === monthColumn,
  )
  if (odd !== undefined)
    throw new UsageError(
      `The mart ${name} cannot be exported: engines refuse its column ${odd.name}. Use small letters, digits and underscores, and not ${monthColumn}.`,
    )
  const has = (column: string) => columns.some((one) => one.name === column)
  const isPartitioned = monthly.includes(name) || (has('rooftop_id') && keys.some(has))
  const mart = `mart.${quotedName(name)} as t`
  const { day, join } = isPartitioned ? dayColumn(has) : { day: null, join: '' }
  // Others, as infinity, are rows without a month.
  const inCalendar = (expression: string) =>
    `case when ${day} between '0001-01-01' and '9999-12-31' then ${expression} end`
  const month = day === null ? null : inCalendar(`to_char(${day}, 'YYYY-MM')`)
  // Reports group by the month: only an equation is known inside.
  const inMonth = (name: string) =>
    day === 't.month_start'
      ? `${day} = '${name}-01'`
      : `${day} >= '${name}-01' and ${day} < date '${name}-01' + interval '1 month'`
  const sorted = [
    ...(day === null ? [] : [inCalendar(`date_trunc('month', ${day})`)]),
    ...(has('rooftop_id') ? ['t.rooftop_id'] : []),
    ...(day === null ? [] : [day]),
    ...(isPartitioned ? keys.filter(has).map((key) => `t.${key}`) : []),
  ]
  return {
    ...{ name, columns, month, inMonth, source: `${mart}${join}`, comment: comments[''] || null },
    order: sorted.length === 0 ? null : sorted.join(', '),
  }
}

/** SQL for the day of a row `t` of a partitioned table, and what it must be joined with. */
function dayColumn(has: (column: string) => boolean) {
  const date = dateColumns.find(has)
  if (date !== undefined) return { day: `t.${date}`, join: '' }
  if (has('eval_id')) {
    const join =
      ' left join mart.fact_evaluation as e on e.rooftop_id = t.rooftop_id and e.eval_id = t.eval_id'
    return { day: 'e.completed_date', join }
  }
  const instant = instantColumns.find(has)
  return { day: instant === undefined ? null : `(t.${instant} at time zone 'UTC')`, join: '' }
}

/** A row of the table `export`: which version of a table belongs to an export. */
interface ExportRow {
  readonly export_number: number
  readonly exported_at: string
  readonly snapshot_at: string
  readonly warehouse: string
  readonly mart_version: string
  readonly covered_to: string | null
  readonly table_name: string
  readonly table_version: number
  readonly row_count: number
}

const exportColumns: Readonly<Record<keyof ExportRow, readonly [type: string, comment: string]>> = {
  export_number: ['bigint', 'Number of the export: the rows of the greatest one belong together'],
  exported_at: ['timestamp with time zone', 'When its versions became visible'],
  snapshot_at: ['timestamp with time zone', 'Moment of the warehouse that all its tables show'],
  warehouse: ['text', 'Warehouse that writes this lake'],
  mart_version: ['text', 'Version of the marts'],
  covered_to: [
    'timestamp with time zone',
    'Up to when every rooftop of the config was listed; null: none was',
  ],
  table_name: ['text', 'Table, a folder beside this one'],
  table_version: ['bigint', 'Version of the table to read'],
  row_count: ['bigint', 'Rows of that version'],
}

/** The table with these rows. */
export function exportRows(rows: readonly ExportRow[]): LakeTable {
  const types = Object.entries(exportColumns).map(([name, [type]]) => `${name} ${type}`)
  const json = JSON.stringify(rows).replaceAll("'", "''")
  return {
    name: exportTable,
    comment: 'Complete exports: which versions of the tables belong together',
    columns: Object.entries(exportColumns).map(([name, [type, comment]]) => ({
      ...parquetColumn({ name, type, precision: null, scale: null }),
      ...{ sqlType: type, comment },
    })),
    source: `jsonb_to_recordset('${json}') as t(${types.join(', ')})`,
    ...{ month: null, inMonth: () => 'true', order: 't.table_name' },
  }
}

interface LakeSettings {
  readonly warehouse: string
  readonly martVersion: string
  readonly keepHours: number
  readonly at: number
}

/** The metadata of a table when it differs from the last one; null: it is the same. */
export function changedMetaData(
  table: LakeTable,
  last: MetaData | null,
  { warehouse, martVersion, keepHours, at }: LakeSettings,
): MetaData | null {
  const columns = table.columns.map(({ name, deltaType, comment }) =>
    schemaField(name, deltaType, comment),
  )
  const month = schemaField(
    monthColumn,
    'string',
    'Month of the row (YYYY-MM), for engines that leave files out',
  )
  const isPartitioned = table.month !== null
  const retention = `interval ${keepHours} hours`
  const next = {
    id: last?.id ?? randomUUID(),
    name: table.name,
    description: table.comment,
    schemaString: JSON.stringify({
      type: 'struct',
      fields: isPartitioned ? [...columns, month] : columns,
    }),
    partitionColumns: isPartitioned ? [monthColumn] : [],
    configuration: {
      'delta.logRetentionDuration': retention,
      'delta.deletedFileRetentionDuration': retention,
      'delta.dataSkippingStatsColumns': table.columns
        .filter(({ statistic }) => statistic !== null)
        .map(({ name }) => name)
        .join(','),
      'forecourt.martVersion': martVersion,
      [ownerSetting]: warehouse,
    },
    createdTime: last?.createdTime ?? at,
  }
  return isDeepStrictEqual(next, last === null ? null : withoutNulls(last)) ? null : next
}

/** A checkpoint gives back what it has with more fields than were written. */
function withoutNulls({ id, name, description, ...rest }: MetaData) {
  const { schemaString, partitionColumns, configuration, createdTime } = rest
  return {
    ...{ id, name, description: description ?? null },
    ...{ schemaString, partitionColumns, configuration, createdTime },
  }
}

/** Nullable, since a view promises nothing: only the statistics say what a file has. */
function schemaField(name: string, type: string, comment: string | null) {
  return { name, type, nullable: true, metadata: comment === null ? {} : { comment } }
}
