import type { Mapping } from './column-mapping.ts'

/** The mapping for people, a line a column: position, header, field, certainty, samples. */
export function mappingLines(mapping: Mapping): string[] {
  const rows = mapping.columns.map((column) => [
    `#${column.index + 1}`,
    column.header ?? '',
    column.field ?? '(kept as it is)',
    column.field ? `${Math.round(column.confidence * 100)} %` : '',
    column.samples.map((sample) => sample.replaceAll(/\s+/g, ' ').trim()).join(' · '),
  ])
  const widths = [0, 1, 2, 3].map((at) =>
    Math.min(32, Math.max(...rows.map((row) => row[at]!.length), 0)),
  )
  return rows.map((row) =>
    row
      .map((cell, at) => (at < 4 ? cell.slice(0, 32).padEnd(widths[at]!) : cell))
      .join('  ')
      .trimEnd(),
  )
}

/** What exit 2 says: the doubts, the proposed mapping, and the arguments that confirm it. */
export function unsureText(mapping: Mapping): string {
  const maps = [...new Set(mapping.doubts.flatMap((doubt) => doubt.maps))]
  const say =
    maps.length === 0 ? [] : ['', 'If that is right, say so with:', `  ${mapArguments(maps)}`]
  return [
    ...mapping.doubts.map(({ message }) => message),
    '',
    'The columns as they would be read:',
    ...mappingLines(mapping).map((line) => `  ${line}`),
    ...say,
    'Leave a field out with --map <field>= (nothing after the sign). It is remembered for this rooftop and header.',
  ].join('\n')
}

/** `--map` arguments, quoted for a shell where need be. */
export function mapArguments(maps: readonly string[]): string {
  return maps.map((map) => `--map ${quoted(map)}`).join(' ')
}

function quoted(text: string): string {
  return /^[\w=.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
