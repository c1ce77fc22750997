import stringWidth from 'string-width'

/**
 * Rows under their headings, numbers to the right. A cell is as wide as it is shown: a Chinese character takes two columns. On a
 * terminal that is too narrow for a line, each row is a block of lines.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  columns = process.stdout.columns ?? Number.POSITIVE_INFINITY,
): string[] {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)),
  )
  const widths = headings.map((heading, index) =>
    Math.max(stringWidth(heading), ...cells.map((row) => stringWidth(row[index]!))),
  )
  if (widths.reduce((sum, width) => sum + width + 2) >= columns)
    return cells.flatMap((row) => rowBlock(headings, row, columns))
  const isNumber = headings.map(
    (_, index) => rows.length > 0 && rows.every((row) => typeof row[index] === 'number'),
  )
  const pad = (cell: string, index: number) => {
    const space = ' '.repeat(widths[index]! - stringWidth(cell))
    return isNumber[index] ? space + cell : cell + space
  }
  const line = (row: readonly string[]) => `  ${row.map(pad).join('  ')}`.trimEnd()
  return [line(headings), ...cells.map(line)]
}

/** The first cell, and below it the others that are not empty, each after its heading. */
function rowBlock(
  headings: readonly string[],
  row: readonly string[],
  columns: number,
): readonly string[] {
  const facts = row.flatMap((cell, index) =>
    cell === '' || cell === '-' ? [] : [`${headings[index]}: ${cell}`],
  )
  const [title = '', ...others] = facts
  return [`  ${title}`, ...packed(others, columns)]
}

/** As many facts on a line as fit; a fact that fits on none is broken between words. */
function packed(facts: readonly string[], columns: number): string[] {
  const lines: string[] = []
  const fits = (line: string) => stringWidth(line) < columns
  const add = (text: string, separator: string, indent: string) => {
    const longer = `${lines.at(-1)}${separator}${text}`
    if (lines.length > 0 && fits(longer)) lines[lines.length - 1] = longer
    else lines.push(indent + text)
  }
  for (const fact of facts) {
    const [first = '', ...words] = fits(`    ${fact}`) ? [fact] : fact.split(' ')
    add(first, ', ', '    ')
    for (const word of words) add(word, ' ', '      ')
  }
  return lines
}
