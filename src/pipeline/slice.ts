import type { Context } from '../context.ts'
import type { WorkItem } from '../queue/queue.ts'
import type { AttemptReport } from '../sources/http.ts'
import type { Sources } from '../streams/stream-sources.ts'
import type { Stream } from '../streams/stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Run } from './run-ledger.ts'

/** One claimed slice of work: a stream of a rooftop, for a run. */
export interface SliceJob<S extends Stream = Stream> {
  readonly context: Context
  readonly run: Run
  readonly stream: S
  readonly rooftop: RooftopRow
  /** All rooftops of the config in its dealer group, including itself. */
  readonly siblings: readonly RooftopRow[]
  readonly item: WorkItem
  /** Counts the requests of this slice, also when it fails. */
  readonly traffic: Traffic
  /** The slice was retried after a collision with another process; a further collision is a fault of the record. */
  readonly isLastTry?: boolean
}

/** The source's clock at a moment of ours, by the difference measured when the run began; a replay computes the same. */
export function sourceTimeAt(
  { startedAt, sourceStart }: Pick<Run, 'startedAt' | 'sourceStart'>,
  at: Date,
): Date {
  return new Date(at.getTime() + sourceStart * 1000 - startedAt.getTime())
}

/** Counts the requests of a slice, for the run's ledger. */
export class Traffic {
  requests = 0
  retries = 0
  readonly onAttempt = (attempt: AttemptReport): void => {
    this.requests++
    if (attempt.retry) this.retries++
  }
}

/** The API clients that streams use. */
export function sourcesOf(context: Context): Sources {
  const { appraisal, services, config } = context
  return { appraisal, services, wire: config.wire.appraisal }
}
