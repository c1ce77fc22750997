import { type Content, type Html, html } from '../../../values/html.ts'

/** The values of a query; what is empty is left out. */
export type Query = Readonly<Record<string, string | number | null | undefined>>

/** The address of a page. */
export function linkAddress(path: string, query: Query = {}): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  const text = new URLSearchParams(entries).toString()
  return `/console${path}${text === '' ? '' : `?${text}`}`
}

/** A link to a page. */
export function link(text: Content, path: string, query: Query = {}): Html {
  return html`<a href="${linkAddress(path, query)}">${text}</a>`
}

/** A number that links to what it counts; 0 links to nothing. */
export function countLink(count: number, path: string, query: Query = {}): Html {
  const text = count.toLocaleString('en')
  return count === 0 ? html`${text}` : link(text, path, query)
}
