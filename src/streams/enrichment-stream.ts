import type { Kysely } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type { CallOptions } from '../sources/appraisal/client.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Sources } from './stream-sources.ts'
import type { Loaded } from './record.ts'

/** The settings of the config that enrichment streams go by. */
export interface EnrichmentSettings {
  readonly pricing: { readonly reasoning: boolean; readonly budget: number }
  readonly checks: {
    readonly lookForNewDays: number
    readonly lookEveryDays: number
    readonly dailyForDays: number
    readonly backfillBudget: number
  }
  readonly links: { readonly refreshBeforeHours: number; readonly keepAliveDays: number | null }
}

/** An evaluation to ask about, and what to ask. */
export interface EnrichmentTask {
  readonly evalId: number
  /** One of the stream's asks. */
  readonly ask: string
  readonly completedAt: Date
  /** Its answer is being waited for: asking again takes nothing of the budget. */
  readonly again: boolean
  readonly pollingSince: Date | null
  /** Askings without an answer, in a row. */
  readonly failures: number
}

/** What is due: by the source's clock now, for schedules by its clock when the run began. */
export interface DueQuery {
  readonly now: Date
  readonly runStart: Date
  readonly limit: number
  /** Evaluations that may still be asked about in this run. */
  readonly budget: number
  /** Only these natural keys, whether due or not; null: whatever is due. */
  readonly only: readonly string[] | null
  /** links: nothing but signed links that are about to expire. */
  readonly scope: 'all' | 'links'
  /** Instead: evaluations completed in the span that no schedule asks for any more, and that were never asked about. */
  readonly history: { readonly from: Date; readonly until: Date } | null
  /** The rooftops of the config that share the dealer group, by id; the rooftop itself among them. */
  readonly siblings: readonly number[]
}

/** An answer as normalised. */
export interface EnrichmentAnswer<R> {
  readonly evalId: number
  readonly ask: string
  readonly record: R
  /** The source's time of the answer. */
  readonly at: Date
}

/**
 * A stream that asks about evaluations which are in the warehouse already, each on a schedule of its own and under a budget.
 * `R` is an answer as the stream has normalised it. State, payloads, quarantine and parking are the pipeline's.
 */
export interface EnrichmentStream<R = unknown> {
  readonly kind: 'enrichment'
  readonly name: string
  /** What is asked of an evaluation, each with a state of its own: keys of the answers in `raw.payload`. */
  readonly asks: readonly string[]
  /** An ask whose answer another one's brings as well. */
  readonly alsoAnswers?: Readonly<Record<string, string>>
  /** How an answer that is not complete yet is asked for again. */
  readonly polling: { readonly everySeconds: number; readonly maxWaitSeconds: number }
  /** 403: `abort` is about the key or the evaluation; `skip`: the key's region has no such thing, which is no error. */
  readonly forbidden: 'abort' | 'skip'
  /** Streams that must have ended for the whole dealer group before one of its rooftops is asked about. Where an answer is
   *  about a vehicle of the group, who asks for it, and whose it is, depend on what all of its rooftops bring in. */
  readonly followsInGroup: readonly string[]
  /** Whether the source answers for the rooftop at all; where it does not, there is nothing to do. */
  serves(rooftop: RooftopRow): boolean
  /** Asked for one rooftop in one run, at most. */
  budget(settings: EnrichmentSettings): number
  /** Asked of history for one rooftop in one backfill, at most; left out: the stream has no history to ask for. */
  historyBudget?(settings: EnrichmentSettings): number
  /** Most urgent first. */
  due(
    db: Kysely<Tables>,
    rooftop: Pick<RooftopRow, 'id' | 'groupId'>,
    ask: DueQuery,
    settings: EnrichmentSettings,
  ): Promise<EnrichmentTask[]>
  /** `at` is the source's time of the answer, where it told. */
  read(
    sources: Sources,
    rooftop: RooftopRow,
    task: EnrichmentTask,
    settings: EnrichmentSettings,
    options: CallOptions,
  ): Promise<{ readonly body: unknown; readonly text: string; readonly at: Date | null }>
  /** Pure. What of a payload decides whether it is kept again. */
  contentOf(body: unknown, ask: string, wire: AppraisalWire): unknown
  /** Pure. RecordIssues when it does not fit. */
  normalise(body: unknown, task: EnrichmentTask, rooftop: RooftopRow, wire: AppraisalWire): R
  /** Not complete yet: it is asked for again in a moment. */
  isPending(record: R): boolean
  /** Days until an evaluation that was completed so many days ago is due again; null: never. */
  daysUntilDue(ageDays: number, ask: string, settings: EnrichmentSettings): number | null
  /** Writes what differs and tells of each answer what that was, in order. */
  load(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    answers: readonly EnrichmentAnswer<R>[],
    runId: number,
    wire: AppraisalWire,
  ): Promise<Loaded[]>
  /** Calls that the rooftop's run did not need: what asking everything about every evaluation would have taken beyond them. */
  savedCalls(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    runStart: Date,
    settings: EnrichmentSettings,
  ): Promise<number>
}

/** An asking in quarantine and among the warnings: the EvalID, and where a stream asks several things, what was asked. */
export function naturalKeyOf(
  { asks }: Pick<EnrichmentStream, 'asks'>,
  { evalId, ask }: Pick<EnrichmentTask, 'evalId' | 'ask'>,
): string {
  return asks.length === 1 ? String(evalId) : `${evalId}/${ask}`
}

/** Declares an enrichment stream; the answer's type stays inside the stream's own files. */
export function defineEnrichmentStream<R>(
  stream: Omit<EnrichmentStream<R>, 'kind'>,
): EnrichmentStream {
  return { kind: 'enrichment', ...stream } as unknown as EnrichmentStream
}
