import { type Content, html } from '../../../values/html.ts'
import { shareText } from '../../../values/text.ts'
import { badge } from '../parts/badge.ts'
import { instant } from '../parts/instant.ts'
import type { ReportColumn, ReportRow } from './read-report.ts'

/** Whether a column has numbers, which are aligned to the right. */
export function isNumber({ type, unit }: ReportColumn): boolean {
  return /^(smallint|integer|bigint|numeric)/.test(type) && unit !== 'id' && unit !== 'year'
}

/** A cell of a report, as its column says: shares in percent, instants in the zone, links to what has a page. */
export function cellText(
  column: ReportColumn,
  row: ReportRow,
  { zone, uids }: { readonly zone: string; readonly uids: ReadonlyMap<number, string> },
): Content {
  const { name, type, unit } = column
  const value = row[name] ?? null
  if (value === null) return '–'
  if (name === 'may_trust') return value === true ? badge('yes', 'ok') : badge('no', 'warn')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (type === 'timestamp with time zone') return instant(value as string, zone)
  if (type === 'date') return html`<time>${value}</time>`
  if (name === 'eval_id') return html`<a href="/console/evaluations/${value}">${value}</a>`
  const uid = uids.get(Number(row['rooftop_id']))
  if (name === 'stock_no' && uid !== undefined)
    return html`<a href="/console/stock/units/${encodeURIComponent(uid)}/${encodeURIComponent(value)}">${value}</a>`
  if (!isNumber(column)) return value
  if (unit.startsWith('share')) return shareText(Number(value), format)
  return format.format(Number(value))
}

const format = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
