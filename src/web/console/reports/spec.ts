/** A chart of a report. Its expressions are SQL over the view; every other text is what people read. */
export interface ChartSpec {
  /** bars, stacked, log: a row for each `x`; lines: over the time `x`; range: how `value` is spread for each `x`. */
  readonly kind: 'bars' | 'stacked' | 'log' | 'lines' | 'range'
  readonly title: string
  /** currency: one chart for each currency of the view; share: in percent; else a word. */
  readonly unit:
    | 'currency'
    | 'share'
    | 'cars'
    | 'changes'
    | 'photos'
    | 'minutes'
    | 'hours'
    | 'percent'
  readonly x: 'rooftop' | 'month' | 'make' | 'group_code' | 'recon_type' | 'week'
  /** The series: a name, and what is counted or summed. A range has `value` instead. */
  readonly y?: Readonly<Record<string, string>>
  readonly value?: string
  /** A column whose values are the series, of the one `y`. */
  readonly by?: string
  /** Medians of months cannot be summed: only the newest month is drawn. */
  readonly newestMonth?: true
  readonly mark?: { readonly at: number; readonly name: string }
}

/** How a report is drawn. */
export interface ReportSpec {
  readonly view: string
  readonly question: string
  /** The months that are shown where none is chosen: fewer where a month has a row for each evaluation. Default: 12. */
  readonly months?: number
  /** The streams that its rows come from; the stock lists are not streams. */
  readonly streams: readonly string[]
  readonly usesStockLists?: true
  /** Its view reads every evaluation or unit of a rooftop: it is read rooftop by rooftop, and of `mostRooftops` at most. */
  readonly isLong?: true
  readonly charts: readonly ChartSpec[]
  /** Columns for which its view reads every evaluation: read by the key of its rows, for those that the table shows. No chart needs them. */
  readonly late?: { readonly columns: string; readonly key: string }
  /** The columns of the table, in their order. */
  readonly columns: string
  /** Which rows come first, in words and in SQL. */
  readonly first: readonly [string, string]
}

type Unit = ChartSpec['unit']
type X = ChartSpec['x']
type Y = NonNullable<ChartSpec['y']>

const chart =
  (kind: ChartSpec['kind']) =>
  (title: string, unit: Unit, x: X, y: Y, more: Partial<ChartSpec> = {}): ChartSpec => ({
    ...{ kind, title, unit, x, y },
    ...more,
  })

/** A chart of one bar for each `y`. */
export const bars = chart('bars')
/** A chart of one bar whose parts are the `y`. */
export const stacked = chart('stacked')
/** Bars of values that span powers of ten. */
export const log = chart('log')
/** A chart of one line for each `y`. */
export const lines = chart('lines')
/** A chart of how `value` is spread. */
export const range = (title: string, unit: Unit, x: X, value: string): ChartSpec => ({
  ...{ kind: 'range', title, unit, x, value },
})
