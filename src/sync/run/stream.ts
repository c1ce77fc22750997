import type { AttemptReport } from '../../api/sources/http.ts'
import type { Config } from '../../app/config/read.ts'
import type { Context } from '../../context.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { WorkItem } from '../../warehouse/queue/queue.ts'
import type { Enrichment } from '../enrich/enrichment.ts'
import type { PayloadRows } from '../records/payload-rows.ts'
import type { DueWindow } from '../windows/due-windows.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { type Counts, isHistory, type Run, type RunMode, type StreamStatus } from './run-ledger.ts'

/** One kind of data that is loaded. It is written with the pipeline's functions; the pipeline knows no stream by name. */
export interface Stream {
  readonly name: string
  /** Its slice of work, by mode of the run. In a mode that it does not have, nothing is due; a replay follows from `payloadRows`. */
  readonly slices: Readonly<Partial<Record<RunMode, Slice>>>
  /** Keys of its answers in `raw.payload`: a newer answer about the same record replaces an older one. */
  readonly endpoints: readonly string[]
  /** How its rows follow from its payloads; left out: from `records`, or not at all. */
  readonly payloadRows?: PayloadRows
  /** The records that it lists by windows; left out: it lists none. */
  readonly records?: WindowedRecords
  /** What it asks about evaluations; left out: it asks nothing. */
  readonly enrichment?: Enrichment
  /** It waits until the run's earlier streams have ended for the rooftop, and those named here for its whole dealer group.
   *  Left out: it waits for none. */
  readonly follows?: readonly string[]
  /** The calls of a run for the rooftop, by what is known now. */
  plan(scope: PlanScope): Promise<CallPlan>
}

/** Does one slice of work and commits it. */
type Slice = (job: SliceJob) => Promise<SliceResult>

/** What a slice did, and what follows it. */
export interface SliceResult {
  readonly counts: Counts
  /** Whether more is due in this run. */
  readonly more: boolean
  /** With `more`: seconds until the next slice; no worker slot is held meanwhile. */
  readonly delaySeconds?: number
  /** Ends the stream for this run with this status, even if more is due. */
  readonly ended?: StreamStatus
  /** Why something is missing, although the rest was loaded. */
  readonly error?: string
  /** The key whose refusal that is, or may be. */
  readonly refusedKey?: string | null
}

/** One claimed slice of work: a stream of a rooftop, for a run. */
export interface SliceJob<S extends Named = Named> {
  readonly context: Context
  readonly run: Run
  /** The stream, or what a function of the pipeline knows about it. */
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

interface Named {
  readonly name: string
}

/** A slice of a pipeline function that works on a part of the stream. */
export function bindSlice<S extends Named>(
  part: S,
  slice: (job: SliceJob<S>) => Promise<SliceResult>,
): Slice {
  return async (job) => await slice({ ...job, stream: part })
}

/** What a dry run knows: our clock, and what is loaded. */
export interface PlanScope {
  /** null: the warehouse does not exist yet. */
  readonly db: Db | null
  readonly config: Config
  readonly run: Run
  /** null: no run has registered it yet. */
  readonly rooftop: RooftopRow | null
  /** Ids of the rooftops of its dealer group, including itself. */
  readonly siblings: readonly number[]
}

/** The calls that a run is expected to make. */
export interface CallPlan {
  readonly lists: number
  /** null: not known, as nothing was listed yet. */
  readonly reads: number | null
  readonly windows?: readonly DueWindow[]
  /** How many of the windows were never listed. */
  readonly unlisted?: number
}

/** Counts the requests of a slice and its time, for the run's ledger. Made when the work on the slice starts. */
export class Traffic {
  requests = 0
  retries = 0
  readonly #startedMs = performance.now()
  /** Since the work on the slice started. The clock of the database may differ from ours, so the ledger goes by this. */
  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000
  }
  readonly onAttempt = (attempt: AttemptReport): void => {
    this.requests++
    if (attempt.retry) this.retries++
  }
}

/** What follows a failure of a call, by mode of the run; it must be true of the whole slice and of a single record. */
const nextTries: Readonly<Record<RunMode, string>> = {
  sync: 'the next sync tries again.',
  backfill:
    'run the same backfill again for what is missing; the next sync tries what is in quarantine.',
  retry: 'the next sync or "forecourt quarantine retry" tries again.',
  links: 'the next refresh of the links tries again.',
  reprice: '"forecourt reprice" tries again, the next sync only what is due.',
  replay: 'run "forecourt replay" again.',
  hints: 'the webhook is tried again; the next sync tries what is in quarantine.',
}

/** The options of a slice's calls. */
export function callOptions({
  context: { signal },
  run,
  traffic: { onAttempt },
}: Pick<SliceJob, 'context' | 'run' | 'traffic'>) {
  const isFresh = run.mode === 'backfill' && !isHistory(run)
  return { signal, onAttempt, nextTry: nextTries[isFresh ? 'sync' : run.mode] }
}

/** The source's clock at a moment of ours, by the difference measured when the run began; a replay computes the same. */
export function sourceTimeAt(
  { startedAt, sourceStart }: Pick<Run, 'startedAt' | 'sourceStart'>,
  at: Date,
): Date {
  return new Date(at.getTime() + sourceStart * 1000 - startedAt.getTime())
}
