import { stringify } from 'csv-stringify/sync'

/** How a file is written. Quotes in a quoted cell are doubled, as RFC 4180 has it. */
export interface CsvStyle {
  readonly delimiter: string
  readonly quote: '"' | "'"
  /** Around every cell, or only where a cell needs them. */
  readonly quotesAll: boolean
  readonly lineEnd: '\r\n' | '\n'
}

/** Plain CSV by RFC 4180. */
export const defaultStyle: CsvStyle = {
  delimiter: ',',
  quote: '"',
  quotesAll: false,
  lineEnd: '\r\n',
}

/** At the start of a file it shows Excel that the text is UTF-8. */
export const byteOrderMark = '\uFEFF'

/** Cells that a reader would trim, or whose first character it may take for a quote. */
const needsQuotes = /^[\s'"]|\s$/

/** The records as text, with line ends. Formulas are not escaped here. */
export function csvText(records: readonly (readonly string[])[], style: CsvStyle): string {
  const { delimiter, quote, quotesAll, lineEnd } = style
  // Without quotes a single empty cell would be a blank line, and empty cells between blanks could not be seen.
  const quotesEmpty = quotesAll || delimiter.trim() === '' || records[0]?.length === 1
  return stringify([...records], {
    ...{ delimiter, quote, escape: quote, quoted: quotesAll, record_delimiter: lineEnd },
    ...{ quote_record_delimiter: true, quoted_empty: quotesEmpty, quoted_match: needsQuotes },
  })
}
