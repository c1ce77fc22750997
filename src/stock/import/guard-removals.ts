import type pg from 'pg'
import { UsageError } from '../../errors.ts'
import type { CellIssue } from '../../csv/map/typing/issue.ts'
import type { Diff } from './diff.ts'
import type { RowCounts } from './import-report.ts'
import type { ImportRequest } from './request.ts'

const namedUnits = 10
const shownIssues = 5

/** UsageError if a list would remove too many vehicles: that is usually the wrong file, not a day of many sales. */
export async function guardRemovals(
  client: pg.ClientBase,
  request: ImportRequest,
  counts: RowCounts,
  issues: readonly CellIssue[],
  diff: Diff,
): Promise<void> {
  if (request.allowMassRemoval) return
  if (counts.accepted === 0 && diff.left === 0)
    throw new UsageError(nothingAccepted(request, counts, issues))
  const left = diff.missing + diff.reused
  const isMany = left > 5 && left > diff.onHand / 5
  const isOthers = request.mode === 'snapshot' && left > diff.onHand / 2
  if (!isMany && !isOthers) return
  const { rows } = await client.query<{ stock_no: string }>(
    `(select stock_no from stock_gone order by stock_no limit ${namedUnits})
     union all (select stock_no from stock_diff where is_reused and was_on_hand order by stock_no limit ${namedUnits})
     limit ${namedUnits}`,
  )
  const names = rows.map(({ stock_no }) => stock_no)
  throw new UsageError(tooMany(request, diff, left, names))
}

function nothingAccepted(
  { file, rooftop }: ImportRequest,
  { records, skipped }: RowCounts,
  issues: readonly CellIssue[],
): string {
  const hint = issues.find(({ code }) => code === 'not-in-stock')?.hint
  const advice = hint === undefined ? '' : ` (${hint})`
  if (records === skipped)
    return `${file} has no vehicle: nothing was imported, and the stock of ${rooftop.name} is unchanged. Export the list again${advice}; if the rooftop really has no stock, add --allow-mass-removal.`
  const first = issues.filter(({ severity }) => severity === 'error').slice(0, shownIssues)
  return [
    `${file}: none of its ${records - skipped} rows is valid, so nothing was imported, and the stock of ${rooftop.name} is unchanged. The first errors:`,
    ...first.map(issueLine),
  ].join('\n')
}

function tooMany(
  { file, rooftop, mode }: ImportRequest,
  { onHand, missing, reused, left: byStatus }: Diff,
  left: number,
  names: readonly string[],
): string {
  const parts = [
    ...(missing > byStatus ? [`${missing - byStatus} are not in it`] : []),
    ...(byStatus > 0 ? [`${byStatus} have left by their status`] : []),
    ...(reused > 0 ? [`${reused} stock numbers now have another VIN`] : []),
  ]
  const named = names.join(', ') + (left > names.length ? ', …' : '')
  const advice = mode === 'snapshot' ? ' If it is part of the stock, add --mode delta;' : ''
  return `${file} would remove ${left} of the ${onHand} vehicles in stock at ${rooftop.name} (${parts.join(', ')}): ${named}. Nothing was imported. Is it the list of another rooftop, or incomplete?${advice} if they have really left, add --allow-mass-removal.`
}

/** `line 12, Price "abc": this is not … (type-error)` */
export function issueLine({ line, column, text, hint, code }: CellIssue): string {
  const place = [line === null ? '' : `line ${line}`, column ?? ''].filter((part) => part !== '')
  const shown = text === '' ? '' : ` "${text.replaceAll(/\s+/g, ' ').slice(0, 60)}"`
  const head = place.join(', ') + shown
  return `${head === '' ? '' : `${head}: `}${hint} (${code})`
}
