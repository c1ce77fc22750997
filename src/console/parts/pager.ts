import { html, type Html } from '../../values/html.ts'

/** Rows of a list on one page. */
export const pageSize = 50

/** What a page of a list shows: ask for one row more than that, to know whether there are others. */
export function cutPage<Row>(rows: readonly Row[]): {
  readonly shown: readonly Row[]
  readonly hasMore: boolean
} {
  return { shown: rows.slice(0, pageSize), hasMore: rows.length > pageSize }
}

/** The id after which a list goes on, of a query; a text that is none: from the start. */
export function idBefore(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER
}

/** The link to the rows after those shown. */
export function olderLink(
  path: string,
  query: Readonly<Record<string, string | number>>,
  label = 'Older',
): Html {
  const pairs = Object.entries(query).filter(([, value]) => value !== '')
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString()
  return html`<p><a href="/console${path}?${text}">${label}</a></p>`
}

/** A count that stopped at a limit: `more than 10,000`. */
export function cappedText(count: number, cap = 10_000): string {
  return count > cap ? `more than ${cap.toLocaleString('en')}` : count.toLocaleString('en')
}
