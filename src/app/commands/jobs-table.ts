import { utcText, withUtcTimes } from '../../values/instant.ts'
import type { JobStatus } from '../scheduler/job-status.ts'
import { table } from './table.ts'

/** The jobs for a person, a line each. */
export function jobLines(jobs: Readonly<Record<string, JobStatus>>, columns?: number): string[] {
  const at = (instant: string | null | undefined) => (instant ? utcText(instant) : '-')
  const rows = Object.entries(jobs).map(([name, own]) => [
    name,
    own.status,
    `${own.schedule} ${own.timezone}`,
    at(own.nextSlotAt),
    own.last === null ? '-' : `${at(own.last.startedAt)} ${own.last.status}`,
    withUtcTimes(own.error ?? ''),
  ])
  return table(['job', 'status', 'schedule', 'next', 'last', 'why'], rows, columns)
}
