import { plural } from '../../../values/text.ts'
import { isAlive, type LiveProcess } from '../../../warehouse/db/processes.ts'
import type { Problem } from '../../morning/problems.ts'
import type { JobFigures } from './read-jobs.ts'

type Jobs = Readonly<Record<string, JobFigures>>

/** Who starts the jobs of the config. `run`: cron or a person does, by "forecourt run"; `demo`: it shows data and has no schedule. */
export type SchedulerState = 'scheduler' | 'run' | 'demo' | 'none'

/** Who starts the jobs, by the processes that are alive now and by the newest run of all jobs. */
export function findSchedulerState(processes: readonly LiveProcess[], jobs: Jobs): SchedulerState {
  if (isAlive(processes, ['schedule'])) return 'scheduler'
  if (isAlive(processes, ['demo'])) return 'demo'
  const newest = findNewestRun(jobs)
  // A scheduler that died left a newer run than the last one by hand.
  return newest?.ranLately === true && newest.last!.slotAt === null ? 'run' : 'none'
}

function findNewestRun(jobs: Jobs): JobFigures | undefined {
  return Object.values(jobs)
    .filter(({ last }) => last !== null)
    .toSorted((a, b) => b.last!.startedAt.localeCompare(a.last!.startedAt))[0]
}

/** The row of the morning where the config has jobs and nothing starts them; null: something does. */
export function findSchedulerProblem(
  processes: readonly LiveProcess[],
  jobs: Jobs,
): Problem | null {
  const scheduled = Object.values(jobs).filter(({ nextSlotAt }) => nextSlotAt !== null)
  if (scheduled.length === 0 || findSchedulerState(processes, jobs) !== 'none') return null
  const newest = findNewestRun(jobs)?.last
  return {
    ...{ rank: 2, word: 'No scheduler', tone: 'bad', what: 'No job starts by itself' },
    detail: `${plural(scheduled.length, 'job')} of the config`,
    why: 'No scheduler is alive, and no job was run by hand lately: start "forecourt schedule", or let cron start "forecourt run <job>".',
    since: newest ? new Date(newest.startedAt) : null,
    link: { label: 'Show the jobs', path: '/jobs' },
  }
}
