// One table with one fault at a time: the pollutions that the Pollock survey (Vitagliano et al., VLDB 2023) found in real
// files, on our own stock list.

export interface Table {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface Polluted {
  readonly name: string
  readonly text: string
  /** The expected result. */
  readonly expected: Table
  /** The number of files in the survey with this fault: its weight. */
  readonly weight: number
}

const models = [
  "King's Ranger",
  'Corolla',
  'Pajero GLS 7 Seats',
  'Hilux, Double Cab',
  'Town Ace',
] as const
const notes = [
  'One owner, full history, two keys and a spare',
  'Alloy wheels 18", towbar, and a dash that does not rattle',
  "Driven by the dealer's wife; never raced, never wrecked",
  'Long description that goes on, and on, and mentions a 6.5" screen twice: 6.5" indeed',
  'Clean',
] as const

export const base: Table = {
  header: ['DATE', 'TIME', 'Doors', 'STOCKNO', 'Price', 'Model', 'Description', 'URL', 'Comments'],
  rows: Array.from({ length: 40 }, (_, row) => {
    const two = (value: number) => String(value).padStart(2, '0')
    const stock = `${'MRYHG'[row % 5]}${'GIYHN'[row % 4]}-${1000 + ((row * 7919) % 9000)}`
    return [
      `${two(1 + (row % 28))}/${two(1 + (row % 12))}/2024`,
      `${two(row % 24)}:${two((row * 15) % 60)}`,
      String(2 + (row % 4)),
      stock,
      `$${((row * 613) % 9000) / 100 + 1}`,
      models[row % models.length]!,
      notes[(row * 3) % notes.length]!,
      `https://www.example.com/stock/${stock.replace('-', '_')}.html`,
      '',
    ]
  }),
}

export interface Style {
  readonly delimiter: string
  readonly quote: string
  readonly escape: string
  readonly end: string
}

export const plain: Style = { delimiter: ',', quote: '"', escape: '"', end: '\r\n' }

/** The base file's style: quotes where needed, and always around the last two texts. */
function cellText(cell: string, column: number, style: Style): string {
  const { delimiter, quote } = style
  const must = cell.includes(delimiter) || cell.includes(quote) || cell.includes('\n')
  const isApostrophe = quote === "'" && !cell.includes(delimiter)
  if (!(column === 6 || column === 7) && (!must || isApostrophe)) return cell
  const inner = quote === '"' ? cell.replaceAll('"', `${style.escape}"`) : cell
  return `${quote}${inner}${quote}`
}

function lineText(cells: readonly string[], style: Style): string {
  return cells.map((cell, column) => cellText(cell, column, style)).join(style.delimiter)
}

export function write({ header, rows }: Table, style: Style = plain): string {
  return [header, ...rows].map((cells) => lineText(cells, style) + style.end).join('')
}

/** The base file with one line (0 is the header) replaced by `change` of its cells. */
function withLine(at: number, change: (texts: string[]) => string): string {
  return [base.header, ...base.rows]
    .map((cells, row) => {
      const texts = cells.map((cell, column) => cellText(cell, column, plain))
      return (row === at ? change(texts) : texts.join(',')) + plain.end
    })
    .join('')
}

function file(name: string, weight: number, text: string, expected: Table = base): Polluted {
  return { name, weight, text, expected }
}

export function* filePollutions(): Generator<Polluted> {
  const text = write(base)
  const titles = 'Stock list of the day\r\n\r\n'
  yield file('source', 1, text)
  yield file('no trailing newline', 184, text.trimEnd())
  yield file('double trailing newline', 5, `${text}\r\n`)
  yield file('no header', 470, write({ ...base, header: base.rows[0]! }).replace(/^.*\r\n/, ''), {
    ...base,
    header: [],
  })
  for (const rows of [2, 3]) yield multiRowHeader(rows)
  yield file('preamble', 141, titles + text)
  yield file('delimited preamble', 141, `Stock list,,,,,,,,\r\n,,,,,,,,\r\n${text}`)
  yield* multiTables(text)
  yield file('header only', 3, text.replace(/\r\n.*/s, '\r\n'), { ...base, rows: [] })
  const one = { ...base, rows: base.rows.slice(0, 1) }
  yield file('one data row', 4, write(one), one)
  yield file('CR line ends', 7, write(base, { ...plain, end: '\r' }))
  yield file('LF line ends', 1691, write(base, { ...plain, end: '\n' }))
  for (const [delimiter, weight] of [
    ['\t', 4],
    [';', 834],
    [' ', 4],
    [', ', 101],
  ] as const)
    yield file(
      `delimiter ${JSON.stringify(delimiter)}`,
      weight,
      write(base, { ...plain, delimiter }),
    )
  yield file("quote '", 11, write(base, { ...plain, quote: "'" }))
  yield file('escape \\', 1, write(base, { ...plain, escape: '\\' }))
  yield file('escape NUL', 7, write(base, { ...plain, escape: '\0' }))
}

function multiRowHeader(rows: number): Polluted {
  const line = lineText(base.header, plain) + plain.end
  const header = base.header.map((name) => Array(rows).fill(name).join(' '))
  return file(`header of ${rows} rows`, 47, line.repeat(rows - 1) + write(base), {
    ...base,
    header,
  })
}

/** The second table is not expected: a reader that finds it loses points. */
function* multiTables(text: string): Generator<Polluted> {
  const table = (header: readonly string[], width: number) =>
    write({ header, rows: base.rows.slice(0, 10).map((cells) => resize(cells, width)) })
  yield file('second table, same columns', 62.7, text + table(base.header, 9))
  yield file('second table, more columns', 62.7, text + table([...base.header, 'a', 'b'], 11))
  yield file('second table, fewer columns', 62.7, text + table(base.header.slice(0, 6), 6))
}

function resize(cells: readonly string[], width: number): string[] {
  return Array.from({ length: width }, (_, column) => cells[column] ?? '')
}

/** For every line: a delimiter missing or added at every place, a quote added in every cell, other delimiters. */
export function* rowPollutions(): Generator<Polluted> {
  // 834 of the survey's files have rows with too many or too few cells, or stray quotes.
  const weight = 834 / (27 * (base.rows.length + 1))
  for (let row = 0; row <= base.rows.length; row += 1) {
    for (let column = 0; column < base.header.length; column += 1) {
      const at = `row ${row}, column ${column}`
      const cut = (texts: string[], by: string) =>
        [texts.slice(0, column).join(','), texts.slice(column).join(',')].join(by)
      if (column > 0)
        yield file(
          `less: ${at}`,
          weight,
          withLine(row, (texts) => cut(texts, '')),
        )
      const more = withLine(row, (texts) => cut(texts, column === 0 ? ',' : ',,'))
      yield file(`more: ${at}`, weight, more)
      yield extraQuote(row, column, weight)
    }
    yield file(
      `space: row ${row}`,
      weight,
      withLine(row, (texts) => texts.join(' ')),
    )
  }
}

function extraQuote(row: number, column: number, weight: number): Polluted {
  const text = withLine(row, (texts) =>
    texts.map((own, index) => (index === column ? own.replace(/^("?)/, '$1"') : own)).join(','),
  )
  const spoil = (cells: readonly string[]) =>
    cells.map((cell, index) => (index === column ? `"${cell}` : cell))
  const expected =
    row === 0
      ? { ...base, header: spoil(base.header) }
      : { ...base, rows: base.rows.map((cells, at) => (at === row - 1 ? spoil(cells) : cells)) }
  return file(`quote: row ${row}, column ${column}`, weight, text, expected)
}
