import { utcText, withUtcTimes } from '../../values/instant.ts'
import type { JobStatus } from '../scheduler/job-status.ts'
import { table } from './table.ts'

/** The jobs for a person, a line each. */
export function jobLines(jobs: Readonly<Record<string, JobStatus>>, columns?: number): string[] {
  const at = (instant: string | null | undefined) => (instant ? utcText(instant) : '-')
  const rows = Object.entries(jobs).map(([name, job]) => [
    name,
    job.status,
    `${job.schedule} ${job.timezone}`,
    at(job.nextSlotAt),
    job.last === null ? '-' : `${at(job.last.startedAt)} ${job.last.status}`,
    withUtcTimes(job.error ?? ''),
  ])
  return table(['job', 'status', 'schedule', 'next', 'last', 'why'], rows, columns)
}
