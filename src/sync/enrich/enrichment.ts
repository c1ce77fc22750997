import type { Kysely } from 'kysely'
import type { CallOptions } from '../../api/sources/http.ts'
import type { Config } from '../../app/config/read.ts'
import type { Loaded } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import type { Sources } from '../run/sources.ts'

/** The settings of the config that an enrichment uses. */
export type EnrichmentSettings = Pick<Config, 'pricing' | 'checks' | 'links'>

/** A call to make: an evaluation, and what to ask about it. */
export interface EnrichmentTask {
  readonly evalId: number
  /** One of the stream's asks. */
  readonly ask: string
  readonly completedAt: Date
  /** It polls for an answer that is not complete, which costs nothing of the budget. */
  readonly again: boolean
  readonly pollingSince: Date | null
  /** Failed attempts in a row. */
  readonly failures: number
}

/** Which tasks to find. `now` is the source's clock, `runStart` its time when the run began, which schedules use. */
export interface DueQuery {
  readonly now: Date
  readonly runStart: Date
  readonly limit: number
  /** Evaluations that may still be asked about in this run. */
  readonly budget: number
  /** Only these natural keys, whether due or not; null: whatever is due. */
  readonly only: readonly string[] | null
  /** Only what is due of this evaluation; null: of any. */
  readonly evalId: number | null
  /** links: only signed links that are about to expire. */
  readonly scope: 'all' | 'links'
  /** Instead of what is due: evaluations completed in the span that are too old for the schedule and were never asked about. */
  readonly history: { readonly from: Date; readonly until: Date } | null
  /** The rooftops of the config that share the dealer group, by id; the rooftop itself among them. */
  readonly siblings: readonly number[]
}

/** A normalised answer. */
export interface EnrichmentAnswer<R> {
  readonly evalId: number
  readonly ask: string
  readonly record: R
  /** The source's time of the answer. */
  readonly at: Date
}

/**
 * What a stream asks about evaluations that are in the warehouse, each on its own schedule and within a budget. `R` is a
 * normalised answer. The pipeline handles state, payloads, quarantine and parking.
 */
export interface Enrichment<R = unknown> {
  /** The stream's. */
  readonly name: string
  /** What the stream asks about an evaluation, each with its own state: keys of the answers in `raw.payload`. */
  readonly asks: readonly string[]
  /** Whether the sums of the reports count its answers. */
  readonly isSummed?: true
  /** By ask: another ask that its answer covers too. */
  readonly alsoAnswers?: Readonly<Record<string, string>>
  /** How an answer that is not complete yet is polled. */
  readonly polling: { readonly everySeconds: number; readonly maxWaitSeconds: number }
  /** Whether the source answers for the rooftop at all. */
  serves(rooftop: RooftopRow): boolean
  /** The most calls for one rooftop in one run. */
  budget(settings: EnrichmentSettings): number
  /** The most calls for one rooftop in one backfill; left out: the stream has no history. */
  historyBudget?(settings: EnrichmentSettings): number
  /** The tasks that are due, most urgent first. */
  due(
    db: Kysely<Tables>,
    rooftop: Pick<RooftopRow, 'id' | 'groupId'>,
    ask: DueQuery,
    settings: EnrichmentSettings,
  ): Promise<EnrichmentTask[]>
  /** `at` is the source's time of the answer, where it sent one. */
  read(
    sources: Sources,
    rooftop: RooftopRow,
    task: EnrichmentTask,
    settings: EnrichmentSettings,
    options: CallOptions,
  ): Promise<{ readonly body: unknown; readonly text: string; readonly at: Date | null }>
  /** Pure. The part of a payload that decides whether it is stored again. */
  contentOf(body: unknown, ask: string, wire: AppraisalWire): unknown
  /** Pure. RecordIssues when it does not fit. */
  normalise(body: unknown, task: EnrichmentTask, rooftop: RooftopRow, wire: AppraisalWire): R
  /** Whether the answer is not complete yet, so that it is polled. */
  isPending(record: R): boolean
  /** Days until an evaluation that was completed `ageDays` ago is due again; null: never. */
  daysUntilDue(ageDays: number, ask: string, settings: EnrichmentSettings): number | null
  /** Writes what differs; returns what each answer changed, in order. */
  load(
    tx: Tx,
    rooftop: RooftopRow,
    answers: readonly EnrichmentAnswer<R>[],
    runId: number,
    wire: AppraisalWire,
  ): Promise<Loaded[]>
  /** Calls that the run saved for the rooftop, compared with asking everything about every evaluation that may have something new; left out: none. */
  savedCalls?(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    runStart: Date,
    settings: EnrichmentSettings,
  ): Promise<number>
}

/** The key of a task in quarantine and warnings: the EvalID, with the ask where the stream has several. */
export function taskKey(
  { asks }: Pick<Enrichment, 'asks'>,
  { evalId, ask }: Pick<EnrichmentTask, 'evalId' | 'ask'>,
): string {
  return asks.length === 1 ? String(evalId) : `${evalId}/${ask}`
}

/** Declares what a stream asks; the answer's type stays inside the stream's own files. */
export function defineEnrichment<R>(enrichment: Enrichment<R>): Enrichment {
  return enrichment as unknown as Enrichment
}
