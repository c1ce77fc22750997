import { type Content, type Html, html } from '../../../values/html.ts'
import { ActionRefused, type PageAction } from '../page.ts'
import { badge, statusBadge } from '../parts/badge.ts'
import { actionButton } from '../parts/form.ts'
import { durationText, instant } from '../parts/instant.ts'
import type { JobFigures } from './read-jobs.ts'

type JobRun = NonNullable<JobFigures['last']>

/** The state of a job. */
export function jobBadge({ status }: Pick<JobFigures, 'status'>): Html {
  return status === 'off' ? badge('off', 'quiet') : statusBadge(status)
}

/** Why a job is late, failed or off. */
export function explainJob({ lateSince, last, error }: JobFigures, zone: string): Content {
  if (lateSince === undefined) return error ?? ''
  const cause = last?.error === undefined ? '' : `; last error: ${last.error}`
  return html`no good run for the slot of ${instant(lateSince, zone)}${cause}`
}

/** A run of a job: when it began, whether that was on time, how it ended. */
export function drawLast(last: JobRun | null, zone: string): Content {
  if (last === null) return 'never'
  return html`${statusBadge(last.status)} ${instant(last.startedAt, zone)}<small>${punctuality(last)}</small>`
}

const onTimeSeconds = 60

/** When a run was due and when it began; as text in the answer of `forecourt status`. */
interface Began {
  readonly slotAt: Date | string | null
  readonly startedAt: Date | string
}

/** Whether a run began on time. */
export function punctuality({ slotAt, startedAt }: Began): string {
  if (slotAt === null) return 'by hand'
  const seconds = (Number(new Date(startedAt)) - Number(new Date(slotAt))) / 1000
  return seconds <= onTimeSeconds ? 'on time' : `${durationText(seconds)} late`
}

/** The button that starts a job. `path`: the page that has the action. */
export function runJobButton(path: string, name: string): Html {
  return actionButton({ path, action: 'run', label: `Run ${name} now`, fields: { job: name } })
}

/** Starts a job in this process; its page shows how it goes. */
export const runJobAction: PageAction = {
  roles: ['engineer'],
  run: async ({ params, form, runs }) => {
    const name = params['name'] ?? form['job'] ?? ''
    if (name === '')
      throw new ActionRefused('The job is missing: load the page again and use its button.')
    const id = await runs.startJob(name)
    return { location: `/jobs/${name}`, message: `job run ${id}` }
  },
}
