import type { RunDetail, RunSummary } from '../../../sync/explain/run-history.ts'
import type { Html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import { badge, statusBadge } from './badge.ts'

type Run = Pick<RunSummary, 'status' | 'isAtWork' | 'isDetached'>

/** The state of a run, also where its row says "running" though no process works for it. */
export function runBadge(run: Run): Html {
  if (run.status !== 'running' || run.isAtWork) return statusBadge(run.status)
  return run.isDetached ? badge('waits for a worker', 'warn') : badge('killed', 'bad')
}

const meanings: Readonly<Partial<Record<Run['status'], string>>> = {
  abandoned:
    'Its process ended before the work did, and another run has taken the work over. What it had loaded is in the warehouse; nothing is lost.',
  stopped:
    'A signal stopped it at a checkpoint. What it had loaded is in the warehouse; the next run continues from there.',
  paused:
    'It was paused: no new slice starts until another run resumes it. What it had loaded is in the warehouse.',
}

/** How a run is, in a sentence or two; `other`: the services that it reads in place of those of the config. While it is open they
 *  change only with its state: a screen reader reads each change. */
export function runSentence(
  run: Run & { readonly streams: RunDetail['streams'] },
  other: string | null = null,
): string {
  if (run.status !== 'running') return meanings[run.status] ?? endText(run)
  if (run.isAtWork) return 'It is at work.'
  if (run.isDetached)
    return other === null
      ? 'It waits for a worker: no process works for it.'
      : `It waits for a worker whose config names ${other}: no process works for it. Another run of the same work, with the services of this config, takes it over; a backfill must be paused and resumed for that.`
  return 'Its process has written nothing for a minute, so it was probably killed. The next run of the same rooftops takes its work over; nothing is lost.'
}

function endText({ status, streams }: Parameters<typeof runSentence>[0]): string {
  const sum = (name: 'inserted' | 'updated' | 'quarantined') =>
    Object.values(streams).reduce((all, counts) => all + counts[name], 0)
  const done = `${plural(sum('inserted'), 'record')} new, ${sum('updated').toLocaleString('en')} changed, ${sum('quarantined').toLocaleString('en')} in quarantine`
  if (status === 'ok') return `It ended well: ${done}.`
  if (status === 'partial') return `It ended, and something is missing: ${done}.`
  return `It failed: the reasons are below. Until then: ${done}.`
}
