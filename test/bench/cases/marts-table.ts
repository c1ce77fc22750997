import type { MartQuery } from './marts-queries.ts'

/** A query with its fastest time. */
export interface TimedQuery extends MartQuery {
  readonly ms: number
}

const questions = ['limit 0', 'where 1=0', 'rooftop-month', 'all, a year'] as const

/** One line per view: milliseconds of each query; `!` marks a time above its limit. */
export function martsTable(timed: readonly TimedQuery[]): string {
  const views = [...Map.groupBy(timed, ({ view }) => view)]
  const rows = [
    ['view (ms)', ...questions, 'met'],
    ...views.map(([view, answers]) => [
      view,
      ...questions.map((question) => cell(answers.find(({ what }) => what === question))),
      answers.every(isMet) ? 'yes' : 'no',
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((text, column) =>
          column === 0 ? text.padEnd(widths[0]!) : text.padStart(widths[column]!),
        )
        .join('  '),
    )
    .join('\n')
}

function cell(answer: TimedQuery | undefined): string {
  if (answer === undefined) return ''
  const text = answer.ms >= 100 ? String(Math.round(answer.ms)) : answer.ms.toFixed(1)
  return isMet(answer) ? text : `${text} !`
}

function isMet({ ms, mostMs }: TimedQuery): boolean {
  return mostMs === null || ms <= mostMs
}
