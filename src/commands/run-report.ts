import type { RooftopConfig } from '../config/read.ts'
import type { Counts } from '../pipeline/run-ledger.ts'
import type { Missing, RunReport } from '../pipeline/run-report.ts'
import { nameRooftops } from '../config/choose-rooftops.ts'
import { causeWords } from '../pipeline/cause-words.ts'
import { listText } from '../values/text.ts'
import { table } from './table.ts'
import { wrap } from './wrap.ts'

/** 0 all that was asked is in the warehouse; 1 something failed or was quarantined. */
export function exitCodeOf(report: RunReport): number {
  return report.status === 'ok' ? 0 : 1
}

const shown = [
  'listed',
  'hydrated',
  'inserted',
  'updated',
  'unchanged',
  'quarantined',
  'vanished',
  'windows',
  'requests',
  'retries',
  'saved',
] as const satisfies readonly (keyof Counts)[]

/** What a run did, a line for each stream. */
export function countLines(
  report: Pick<RunReport, 'streams'>,
  columns: readonly (typeof shown)[number][] = shown,
): string[] {
  const rows = Object.entries(report.streams).map(([name, counts]) => [
    name,
    ...columns.map((column) => counts[column]),
  ])
  return table(['stream', ...columns], rows)
}

/** A run for a person: what it did, and each cause of what is missing once. `resume`: what goes on after a stop. */
export function reportLines(
  report: RunReport,
  rooftops: readonly RooftopConfig[],
  resume = 'the next sync goes on',
): string[] {
  const { runId, status, startedAt, finishedAt, stoppedBy, missing = [] } = report
  const seconds = finishedAt === null ? 0 : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000
  const named = new Set(missing.map(({ rooftop }) => rooftop))
  const others = rooftops.filter(
    ({ uid }) => report.rooftops[uid]!.status !== 'ok' && !named.has(uid),
  )
  return [
    `Run ${runId}: ${stoppedBy === undefined ? status : 'stopped'} in ${seconds.toFixed(1)} s`,
    ...countLines(report),
    ...(stoppedBy === undefined ? [] : wrap(stopText(stoppedBy, resume))),
    ...(missing.length > 0 ? ['Not complete:', ...missingLines(missing, rooftops)] : []),
    ...(missing.length === 0 && stoppedBy === undefined && others.length > 0
      ? wrap(
          `Not complete: ${listText(
            others.map(({ name }) => name),
            5,
          )}`,
        )
      : []),
  ]
}

function stopText(stoppedBy: string, resume: string): string {
  const who = stoppedBy === 'SIGINT' ? 'You stopped it (Ctrl-C)' : `It was stopped by ${stoppedBy}`
  return `${who}. Nothing is lost: what was loaded stays, and ${resume}.`
}

function missingLines(missing: readonly Missing[], rooftops: readonly RooftopConfig[]): string[] {
  const label = nameRooftops(rooftops)
  const causes = Map.groupBy(
    missing,
    ({ rooftop, cause, refusedKey }) => refusedKey ?? causeWords(cause.replaceAll(rooftop, '')),
  )
  return [...causes.values()].flatMap((own) => {
    const streams = [...new Set(own.map(({ stream }) => stream))].join(', ')
    const names = [...new Set(own.map(({ rooftop }) => label(rooftop)))]
    // While a refused key rests, nothing is sent: that text has no answer.
    const answered = own.find(({ cause }) => cause.includes(' answered ')) ?? own[0]!
    return wrap(`${streams} of ${listText(names, 5)}: ${answered.cause}`, { indent: 2 })
  })
}
