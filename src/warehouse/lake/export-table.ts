import { parquetColumn } from '../parquet/columns.ts'
import { exportTable } from './lake-state.ts'
import type { LakeTable } from './tables.ts'

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

const columns: Readonly<Record<keyof ExportRow, readonly [type: string, comment: string]>> = {
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
  const types = Object.entries(columns).map(([name, [type]]) => `${name} ${type}`)
  const json = JSON.stringify(rows).replaceAll("'", "''")
  return {
    name: exportTable,
    comment: 'Complete exports: which versions of the tables belong together',
    columns: Object.entries(columns).map(([name, [type, comment]]) => ({
      ...parquetColumn({ name, type, precision: null, scale: null }),
      ...{ sqlType: type, comment },
    })),
    source: `jsonb_to_recordset('${json}') as t(${types.join(', ')})`,
    ...{ month: null, inMonth: () => 'true', order: 't.table_name' },
  }
}
