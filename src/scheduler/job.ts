/** The streams that a job may name, in the order in which a run takes them. */
export type StreamName = 'users' | 'evaluations' | 'pricing' | 'vehicle-checks' | 'stock-prices'

/**
 * What a job does. Of `sync`, `windows` says what is listed: `due` as "forecourt sync" does, `fresh` only what is not settled
 * yet, `every` all of the history once more.
 */
export type Work =
  | {
      readonly kind: 'sync'
      readonly streams: readonly StreamName[]
      readonly windows: 'due' | 'fresh' | 'every'
    }
  | { readonly kind: 'links' }
  | { readonly kind: 'reprice' }
  | { readonly kind: 'retention' }

/** A file of jobs/: its name without the ending is the job's name. */
export interface Job {
  /** One line, for people. */
  readonly does: string
  /** Cron expression of five fields, or of six with seconds first; day of month and day of week must both fit. */
  readonly schedule: string
  /** IANA zone in which the schedule is read. */
  readonly timezone: string
  readonly work: Work
  /** It is stopped at a clean checkpoint after so long; its next slot goes on from there. */
  readonly budgetMinutes: number
  /** How long it waits for another run that holds the same work, before it is skipped. */
  readonly waitMinutes: number
  /** `status` calls it late so long after a slot that nothing good came of. */
  readonly lateAfterMinutes: number
}

/** Lets a file of jobs/ be checked where it is written. */
export function defineJob(job: Job): Job {
  return job
}
