/** The kind of text in a cell, independent of its meaning. */
export type CellKind = 'empty' | 'number' | 'date' | 'time' | 'url' | 'code' | 'word' | 'text'

const number =
  /^[-+(]?(?:\p{Sc}|[A-Za-z]{1,3}\.?)?\s?\d[\d.,'٫٬\s]*(?:\s?(?:%|km|mi|[A-Za-z]{3}|\p{Sc}))?\)?$/u
const date = /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}.*)?$/
const time = /^\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?$/i
const url = /^(?:https?:\/\/|www\.)\S+$/i

/** The kind of a cell. Digits of Arabic script count as digits. */
export function cellKindOf(cell: string): CellKind {
  const text = cell.trim()
  if (text === '') return 'empty'
  if (text.length > 40) return url.test(text) ? 'url' : 'text'
  if (!/\d/.test(text)) return wordOrText(text)
  const western = text.replace(/[\u0660-\u0669\u06f0-\u06f9]/g, '0')
  if (date.test(western)) return 'date'
  if (time.test(western)) return 'time'
  if (number.test(western)) return 'number'
  if (url.test(text)) return 'url'
  return /\s/.test(text) ? 'text' : 'code'
}

function wordOrText(text: string): CellKind {
  if (/[\u0660-\u0669\u06f0-\u06f9]/.test(text))
    return cellKindOf(text.replace(/[\u0660-\u0669\u06f0-\u06f9]/g, '0'))
  return url.test(text) ? 'url' : text.split(/\s+/).length <= 3 ? 'word' : 'text'
}

/** Kinds that are typical for values and never for column names. */
export const typedKinds: ReadonlySet<CellKind> = new Set(['number', 'date', 'time', 'url'])
