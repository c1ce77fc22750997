import { type Content, html } from '../../../values/html.ts'

/** A natural key as a link to its evaluation, where it names one; the key itself otherwise. */
export function evaluationLink(naturalKey: string | number | null, uid: string | null): Content {
  const id = /^(\d{1,15})(\/.*)?$/.exec(String(naturalKey ?? ''))?.[1]
  if (id === undefined) return naturalKey ?? '–'
  const query = uid === null ? '' : `?rooftop=${encodeURIComponent(uid)}`
  return html`<a href="/console/evaluations/${id}${query}">${naturalKey}</a>`
}
