import { type Html, html } from '../../../values/html.ts'
import { linkAddress } from './link.ts'

/** The media type of a file that a page offers, by its format. */
export const mediaTypes = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
} as const

/** The links to a table as files: the workbook first, since Excel shows it without a dialog. */
export function downloadLinks(path: string, query: Readonly<Record<string, string>>): Html {
  return html`<a href="${linkAddress(path, { ...query, download: 'xlsx' })}">Excel</a> or <a href="${linkAddress(path, { ...query, download: 'csv' })}">CSV</a>`
}
