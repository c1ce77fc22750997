import { median } from '../bench/bench-case.ts'
import type { Figures } from './cases.ts'

/** The runs of a peer in a case. */
export interface PeerResult {
  readonly peer: string
  readonly runs: readonly Figures[]
  /** Why it did not take part; null: it did. */
  readonly reason: string | null
}

/** In the JSON alone. */
const hidden = new Set(['requests', 'log', 'examples', 'all rows'])
/** What depends on the machine and on what else runs there. */
const timed = /second|CPU|memory/

/** The results of a case in Markdown, a row for each peer: of several runs the median with the least and the greatest. */
export function caseTable(
  results: readonly PeerResult[],
  { isCounted = false }: { readonly isCounted?: boolean } = {},
): string {
  const all = results.flatMap(({ runs }) => runs).flatMap((run) => Object.keys(run))
  const columns = [...new Set(all)].filter(
    (name) => !hidden.has(name) && !(isCounted && timed.test(name)),
  )
  const rows = results.map(({ peer, runs, reason }) =>
    reason === null
      ? [peer, ...columns.map((name) => cell(runs.map((run) => run[name] ?? null)))]
      : [`${peer}: ${reason}`, ...columns.map(() => '')],
  )
  return [['peer', ...columns], ['---', ...columns.map(() => '---')], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function cell(values: readonly (number | string | null)[]): string {
  const numbers = values.filter((value) => typeof value === 'number')
  if (numbers.length < values.length || numbers.length === 0)
    return [...new Set(values.map((value) => value ?? '-'))].join(', ')
  const [least, greatest] = [Math.min(...numbers), Math.max(...numbers)]
  const middle = rounded(median(numbers))
  const isSame = rounded(least) === rounded(greatest)
  return isSame ? middle : `${middle} (${rounded(least)} to ${rounded(greatest)})`
}

function rounded(value: number): string {
  return value >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(2)))
}
