import { allStreams } from '../../../streams/all.ts'
import {
  findResumable,
  pauseBackfills,
  type Resumable,
  resumeRequest,
} from '../../../sync/run/backfills.ts'
import { type Html, html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import { ActionRefused, type ActionRequest, type PageAction } from '../page.ts'
import { actionButton } from '../parts/form.ts'
import { startRunForWorkers } from '../start-run.ts'

/** The button that pauses a backfill. `path`: the page that has the action. */
export function pauseButton(path: string, runId: number): Html {
  return html`<p>${actionButton({ path, action: 'pause', label: `Pause backfill ${runId}`, fields: { run: runId } })}</p>`
}

/** The button that resumes a backfill. */
export function resumeButton(
  path: string,
  { runId, left }: Pick<Resumable, 'runId' | 'left'>,
): Html {
  const rest = left === null ? '' : `: ${plural(left, 'window')} left`
  const label = `Resume backfill ${runId}${rest}`
  return html`<p>${actionButton({ path, action: 'resume', label, fields: { run: runId }, isMain: true })}</p>`
}

function readRunId({ form }: ActionRequest): number {
  const text = form['run'] ?? ''
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new ActionRefused('The run is missing: load the page again and use its button.')
}

/** Pauses a running backfill; its slices under way may commit. */
export const pauseAction: PageAction = {
  roles: ['engineer'],
  run: async (request) => {
    const runId = readRunId(request)
    const paused = await pauseBackfills(request.db, runId)
    if (paused.length === 0)
      throw new ActionRefused(
        `Run ${runId} is not a running backfill: it has ended, or somebody has paused it before you.`,
      )
    return { location: `/runs/${runId}`, runId, message: 'paused' }
  },
}

/** Leaves what a backfill has not done to the workers, as a new run. */
export const resumeAction: PageAction = {
  roles: ['engineer'],
  run: async (request) => {
    const runId = readRunId(request)
    const { db, config } = request
    const [old] = await findResumable(db, runId, config.sync)
    if (old === undefined)
      throw new ActionRefused(
        `Run ${runId} is not a backfill that was paused, stopped or killed, or somebody has resumed it before you.`,
      )
    const { request: next } = resumeRequest(config, allStreams, old)
    return await startRunForWorkers(request, next)
  },
}
