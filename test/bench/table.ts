import { type CaseResult, median, type Target } from './bench-case.ts'

const headings = ['case', 'figure', 'reference', 'ratio min/median/max', 'target', 'met']

/** The results as a table of plain text. */
export function resultTable(results: readonly CaseResult[]): string {
  const rows = [headings, ...results.map(rowOf)]
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

function rowOf({ name, unit, figures, references, ratios, target, met }: CaseResult): string[] {
  const ratio = [Math.min(...ratios), median(ratios), Math.max(...ratios)]
  return [
    name,
    `${rounded(median(figures))} ${unit}`,
    `${rounded(median(references))} ${unit}`,
    ratio.map(rounded).join(' / '),
    targetText(target, unit),
    met ? 'yes' : 'no',
  ]
}

function targetText({ of, least, most }: Target, unit: string): string {
  const bounds = [
    ...(least === undefined ? [] : [`>= ${rounded(least)}`]),
    ...(most === undefined ? [] : [`<= ${rounded(most)}`]),
  ].join(', ')
  return of === 'figure' ? `${bounds} ${unit}` : `ratio ${bounds}`
}

/** Three significant digits; no decimals for large figures. */
function rounded(value: number): string {
  return value >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)))
}
