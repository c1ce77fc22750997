/** Rows under their headings, numbers to the right. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string[] {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)),
  )
  const widths = headings.map((heading, index) =>
    Math.max(heading.length, ...cells.map((row) => row[index]!.length)),
  )
  const isNumber = headings.map(
    (_, index) => rows.length > 0 && rows.every((row) => typeof row[index] === 'number'),
  )
  const line = (row: readonly string[]) =>
    `  ${row.map((cell, index) => (isNumber[index] ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!))).join('  ')}`.trimEnd()
  return [line(headings), ...cells.map(line)]
}
