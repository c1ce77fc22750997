import type { RunSummary } from '../../pipeline/run-history.ts'
import type { Html } from '../../values/html.ts'
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

/** What a state means, where its word does not say it. */
export function runMeaning(run: Run): string | null {
  if (run.status !== 'running') return meanings[run.status] ?? null
  if (run.isAtWork) return null
  if (run.isDetached) return 'No process works for it: it is left to the workers.'
  return 'Its process has written nothing for a minute, so it was probably killed. The next run of the same rooftops takes its work over; nothing is lost.'
}
