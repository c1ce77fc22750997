/** A list of about `size` bytes that makes a careless reader take minutes. */
export type HostileList = readonly [name: string, make: (size: number) => string]

const header = 'Stock No,Make,Model,Price,Odometer\n'
const row = 'S1001,Kia,Rio,18990,51000'
const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => `S${1000 + at},Kia,Rio,${18_000 + at},${51_000 + at}\n`)
const sound = header + rows(250).join('')

function fill(part: string, size: number): string {
  return part.repeat(Math.ceil(size / part.length)).slice(0, size)
}

const characters: readonly (readonly [name: string, text: string])[] = [
  ...[',', ';', '\t', '|', '"', "'", '\\', '(', '[', '<', '{', '=', '-', '.', '$', '%', '@'].map(
    (text) => [JSON.stringify(text), text] as const,
  ),
  ...([
    ['blanks', ' '],
    ['NULs', '\0'],
    ['carriage returns', '\r'],
    ['line feeds', '\n'],
    ['form feeds', '\f'],
    ['letters', 'a'],
    ['digits', '1'],
    ['Arabic digits', '\u0661'],
    ['no-break spaces', '\u00a0'],
    ['zero-width spaces', '\u200b'],
    ['combining marks', '\u0301'],
    ['emoji', '\u{1f600}'],
  ] as const),
]

const pieces: readonly (readonly [name: string, text: string])[] = [
  ['bracket and quote', '("'],
  ['quotes and delimiters', '",'],
  ['delimiters and quotes', ',"'],
  ['quoted delimiters', '","'],
  ['quotes, letter, quotes', '"a"'],
  ['stray quotes', 'a"b,'],
  ['stray quotes in quotes', '"a"b",'],
  ['quotes and blanks', '" '],
  ['blanks before quotes', ' "'],
  ['backslashed quotes', '\\"'],
  ['NUL and quote', '\0"'],
  ['apostrophes in cells', "'a',"],
  ['digits and letters', '1a'],
  ['digits and points', '1.'],
  ['digits and blanks', '1 '],
  ['words', 'ab '],
  ['links', 'http://'],
  ['mail headers', 'a: b\n'],
  ['tags', '<a>'],
  ['open brackets', '[{"'],
  ['CR and LF', '\r\n'],
  ['CR alone in a line', 'a,b\rc'],
  ['quoted CR', '"\r"'],
  ['lines of a quote', '"\n'],
  ['lines that open a quote', 'a,"b\n'],
  ['lines that close a quote', 'a",b\n'],
  ['lines of two quotes', '""\n'],
  ['blank quoted cells', '"",'],
]

const separators: readonly (readonly [name: string, text: string])[] = [
  ...([
    ['<br>', '<br>'],
    ['vertical tabs', '\v'],
    ['U+2028', '\u2028'],
    ['U+0085', '\u0085'],
    ['record separators', '\x1e'],
    ['bars', '|'],
    ['double bars', '||'],
    ['semicolons', ';'],
    ['blanks', ' '],
    ['CR alone', '\r'],
  ] as const),
]

/** Every character, piece and separator in every place of a list. */
export const hostileLists: readonly HostileList[] = [
  ...[...characters, ...pieces].flatMap(([name, text]): HostileList[] => [
    [`a file of ${name}`, (size) => fill(text, size)],
    [
      `a line of ${name} in a list`,
      (size) => `${sound}${fill(text.replaceAll('\n', '\r'), size)}\n${row}\n`,
    ],
    [`a cell of ${name} in a list`, (size) => `${sound}S1,Kia,${fill(text, size)},1,2\n${row}\n`],
    [
      `a quoted cell of ${name} in a list`,
      (size) => `${sound}S1,Kia,"${fill(text, size)}",1,2\n${row}\n`,
    ],
    [`an open quote before ${name}`, (size) => `${sound}S1,Kia,"${fill(text, size)}\n${row}\n`],
    [
      `a header of ${name}`,
      (size) => `${fill(text.replaceAll('\n', '\r'), size)}\n${row}\n${row}\n${row}\n`,
    ],
    [
      `lines with a cell of ${name}`,
      (size) => `${header}${fill(`S1,Kia,${fill(text, 200).replaceAll('\n', '')},1,2\n`, size)}`,
    ],
    [
      `lines of 4,000 characters of ${name}`,
      (size) => `${sound}${fill(`${fill(text, 4_000).replaceAll('\n', '')}\n`, size)}`,
    ],
  ]),
  ...separators.flatMap(([name, text]): HostileList[] => [
    [`rows parted by ${name}`, (size) => header.replace('\n', text) + fill(`${row}${text}`, size)],
    [
      `quoted rows parted by ${name}`,
      (size) => fill(`"${row.replaceAll(',', '","')}"${text}`, size),
    ],
    [`rows parted by ${name} in one cell`, (size) => `${sound}"${fill(`${row}${text}`, size)}"\n`],
    [`rows parted by ${name} below a list`, (size) => sound + fill(`${row}${text}`, size)],
    [`rows with a quote parted by ${name}`, (size) => `${sound}"${fill(`${row}"${text}`, size)}`],
  ]),
  [
    'many columns',
    (size) =>
      fill('a,', size / 8)
        .concat('\n')
        .repeat(8),
  ],
  ['many empty columns', (size) => `${header}${fill(`${','.repeat(1_900)}\n`, size)}`],
  ['1,900 columns', (size) => fill(`${fill('12,ab,', 5_700)}\n`, size)],
  ['1,900 quoted columns', (size) => fill(`${fill('"1",', 7_600)}\n`, size)],
  [
    '1,900 columns, some too many',
    (size) => fill(`${`${fill('1,', 3_800)}\n`.repeat(20)}${fill('1,', 3_900)}\n`, size),
  ],
  [
    '1,900 columns, some too few',
    (size) => fill(`${`${fill('1,', 3_800)}\n`.repeat(20)}${fill('1,', 3_700)}\n`, size),
  ],
  ['1,900 columns with stray quotes', (size) => fill(`${fill('a"b,', 7_600)}\n`, size)],
  ['1,900 columns with open quotes', (size) => fill(`${fill('"a"b,', 9_500)}\n`, size)],
  ['many short lines', (size) => fill('a\n', size)],
  ['many blank lines', (size) => header + fill('\n', size)],
  ['repeated headers', (size) => fill(header, size)],
  ['titles before a table', (size) => fill('Stock list of today\n', size) + sound],
  ['rows with a delimiter too many', (size) => sound + fill('S1,Kia,Rio,Sport,1,2\n', size)],
  ['rows with a delimiter too few', (size) => sound + fill('S1 Kia,Rio,1,2\n', size)],
  ['rows with an open quote', (size) => sound + fill('S1,"Kia,Rio,1,2\n', size)],
  ['rows with a stray quote', (size) => sound + fill('S1,5" Kia,Rio,1,2\n', size)],
  ['rows with a delimiter missing at a quote', (size) => sound + fill('S1,"Kia""Rio",1,2\n', size)],
]
