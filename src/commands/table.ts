import stringWidth from 'string-width'

/** Rows under their headings, numbers to the right. A cell is as wide as it is shown: a Chinese character takes two columns. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string[] {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)),
  )
  const widths = headings.map((heading, index) =>
    Math.max(stringWidth(heading), ...cells.map((row) => stringWidth(row[index]!))),
  )
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
