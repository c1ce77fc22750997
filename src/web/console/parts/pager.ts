import { type Html, html } from '../../../values/html.ts'
import { link, type Query } from './link.ts'

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
export function olderLink(path: string, query: Query, label = 'Older'): Html {
  return html`<p>${link(label, path, query)}</p>`
}

/** A count that stopped at a limit: `more than 10,000`. */
export function cappedText(count: number): string {
  return count > 10_000 ? 'more than 10,000' : count.toLocaleString('en')
}
