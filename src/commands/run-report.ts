import type { RooftopConfig } from '../config/read.ts'
import type { Counts } from '../pipeline/run-ledger.ts'
import type { RunReport } from '../pipeline/run-report.ts'
import { table } from './table.ts'

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

/** A run for a person. */
export function reportLines(report: RunReport, rooftops: readonly RooftopConfig[]): string[] {
  const seconds =
    report.finishedAt === null
      ? 0
      : (Date.parse(report.finishedAt) - Date.parse(report.startedAt)) / 1000
  const failed = rooftops.flatMap(({ uid, name }) => {
    const { status, error } = report.rooftops[uid]!
    return status === 'ok' ? [] : [`  ${name} (${uid}): ${status}${error ? `: ${error}` : ''}`]
  })
  return [
    `Run ${report.runId}: ${report.status} in ${seconds.toFixed(1)} s`,
    ...countLines(report),
    ...(failed.length > 0 ? ['Not complete:', ...failed] : []),
  ]
}
