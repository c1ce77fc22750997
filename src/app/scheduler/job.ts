import type { streamNames } from '../../values/names.ts'

/**
 * What a job does. For `sync`, `windows` selects what is listed: `due` as "forecourt sync" does, `fresh` only what is not settled
 * yet, `every` the whole history again.
 */
type Work =
  | {
      readonly kind: 'sync'
      readonly streams: readonly (typeof streamNames)[number][]
      readonly windows: 'due' | 'fresh' | 'every'
    }
  | { readonly kind: 'links' }
  | { readonly kind: 'reprice' }
  | { readonly kind: 'retention' }
  | { readonly kind: 'verify' }
  | { readonly kind: 'stock-inbox' }
  | { readonly kind: 'lake' }

/** A file in jobs/. Its name without the extension is the job's name. */
export interface Job {
  /** What the job does, in one line. */
  readonly does: string
  /** Cron expression of five fields, or of six with seconds first; day of month and day of week must both fit. */
  readonly schedule: string
  /** The IANA time zone of the schedule. */
  readonly timezone: string
  readonly work: Work
  /** After this time the job is stopped at a clean checkpoint. Its next slot continues from there, or the run has failed. */
  readonly budgetMinutes: number
  /** How long it waits for another run that holds the same work, before it is skipped. */
  readonly waitMinutes: number
  /** How long after a slot without a good run `status` shows the job as late. */
  readonly lateAfterMinutes: number
}

/** Declares a job, so that its file is type-checked. */
export function defineJob(job: Job): Job {
  return job
}
