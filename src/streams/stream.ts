import type { Kysely } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type {
  AppraisalClient,
  CallOptions,
  FetchedEvaluation,
} from '../sources/appraisal/client.ts'
import type { EvaluationList } from '../sources/appraisal/evaluation-list.ts'
import type { ServiceClient } from '../sources/service-client.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Window } from '../values/window.ts'
import type { RooftopRow } from '../values/rooftop.ts'

/** What a stream may reach of the sources: reads only. */
export interface Sources {
  readonly appraisal: Pick<AppraisalClient, 'listEvaluations' | 'getEvaluation' | 'listUsers'>
  /** Any other read of either service; what writes or bills does not compile here. */
  readonly services: ServiceClient<'read'>
  readonly wire: AppraisalWire
}

/** What the evaluations' own calls take. */
export type ListSources = Pick<Sources, 'appraisal' | 'wire'>

export type Row = Readonly<Record<string, unknown>>
/** Rows of one record by table, e.g. `core.photo`. */
export type RowSet = Readonly<Record<string, readonly Row[]>>

/** A place in a record that does not fit, and why. Never the value: it may be a customer's. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** A record that does not fit: goes to quarantine with every issue; the others land. */
export class RecordIssues extends Error {
  override readonly name = 'RecordIssues'
  readonly issues: readonly Issue[]
  constructor(issues: readonly Issue[]) {
    super(issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '))
    this.issues = issues
  }
}

/** Where and when a payload was read. */
export interface Origin {
  readonly fetchedAt: Date
  readonly runId: number
  /** The window whose list named the record; null: it came by itself. */
  readonly listedIn: Window | null
  /** When its customer was erased; left out or null: they were not. */
  readonly erasedAt?: Date | null
}

/** Whom a record names: personal data. */
export interface Person {
  readonly name: string | null
  readonly phone: string | null
  readonly email: string | null
  readonly address: string | null
  readonly suburb: string | null
  readonly plate: string | null
}

/** How a person is taken out of a payload. */
export interface Scrub {
  /** A text, or a number that may be one, without the person. */
  readonly redact: {
    (text: string): string
    (value: string | number): string | number
  }
  /** What stands in a field of the customer's from now on, by its place; undefined leaves it out. null: the fields stay, since
   *  the customer is another one. */
  readonly blank: ((place: string, value: unknown) => unknown) | null
}

export interface Merged {
  /** stale: older than what is stored, which stays. */
  readonly outcome: 'inserted' | 'updated' | 'unchanged' | 'stale'
  /** Of every table named here, all rows of the record from now on; only with `inserted` and `updated`. */
  readonly rows?: RowSet
}

/** What the warehouse knows of a listed record, enough to decide whether to read it again. */
export interface Known {
  readonly id: number
  readonly rooftopId: number
  readonly updatedAt: Date
  /** Where it stands among the windows. */
  readonly entryAt: Date
  readonly createdAt: Date
  /** The instant that ageing counts from. */
  readonly bornAt: Date
  readonly gone: boolean
}

/**
 * A stream whose source lists what was created in a window and answers for one record at a time.
 * `R` is a record as the stream has normalised it. Nothing here writes; the pipeline does.
 */
export interface WindowedStream<R = unknown> {
  readonly kind: 'windowed'
  readonly name: string
  /** Key of the record's payloads in `raw.payload`. */
  readonly endpoint: string
  /** Tables of a record, its own first; all are keyed by `rooftop_id` and `idColumn`. */
  readonly tables: readonly (keyof Tables & string)[]
  /** Tables of other streams with the same key: their rows follow the record to another rooftop, and nothing else. */
  readonly followers: readonly (keyof Tables & string)[]
  readonly idColumn: string
  /** JSON paths that the document names, and those it says are always there: for the drift report. */
  readonly documented: { readonly paths: ReadonlySet<string>; readonly required: readonly string[] }

  list(
    sources: ListSources,
    rooftop: RooftopRow,
    range: { from: number; until: number | null },
    options: CallOptions,
  ): Promise<EvaluationList>
  hydrate(
    sources: ListSources,
    rooftop: RooftopRow,
    id: number,
    options: CallOptions,
  ): Promise<FetchedEvaluation>
  /** Pure. RecordIssues when it does not fit. `body` is the parsed payload. */
  normalise(body: unknown, id: number, rooftop: RooftopRow, wire: AppraisalWire): R
  /** The numeric dealership that the payload names, where it names one. */
  dealerOf(body: unknown, id: number, wire: AppraisalWire): number | null
  /** Whom the payload names as its customer. */
  personOf(body: unknown, id: number, wire: AppraisalWire): Person
  /** Pure. The parsed payload without the person, so that it makes the same facts. */
  withoutPerson(body: unknown, id: number, wire: AppraisalWire, scrub: Scrub): unknown
  /** What of a record contradicts itself or the document, though it fits. */
  warnings(record: R): readonly RecordWarning[]
  /** The part of the parsed payload that the drift report walks. */
  recordOf(body: unknown, id: number): unknown
  /** When the record was created as the list sees it. */
  entryAt(record: R): Date
  /** Finds or makes what the records point at (salespeople), in the load's transaction. */
  resolve(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    records: readonly R[],
    wire: AppraisalWire,
  ): Promise<(record: R) => Row>
  /** Pure. What the stored rows and a record make together. */
  merge(stored: RowSet | null, record: R, links: Row, rooftop: RooftopRow, origin: Origin): Merged
  /** Pure. A replayed history on top of stored versions whose payloads are no longer kept. */
  rebase(stored: RowSet | null, folded: RowSet): RowSet

  known(db: Kysely<Tables>, rooftop: RooftopRow, ids: readonly number[]): Promise<Known[]>
  /** Ids that are stored, not gone, and belong to the half-open window. */
  knownWithin(db: Kysely<Tables>, rooftop: RooftopRow, from: Date, until: Date): Promise<number[]>
  /** Ids that were stored, and not gone before `goneAfter`: for `verify`. */
  storedWithin(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    within: {
      readonly from: Date
      readonly until: Date
      readonly goneAfter: Date
      readonly of: 'rooftop' | 'group'
    },
  ): Promise<number[]>
  /** Moves records to the time at which the list shows them. */
  place(db: Kysely<Tables>, rooftop: RooftopRow, times: ReadonlyMap<number, Date>): Promise<void>
  markGone(db: Kysely<Tables>, rooftop: RooftopRow, ids: readonly number[], at: Date): Promise<void>
}

export interface SnapshotPayload {
  readonly naturalKey: string
  readonly text: string
  readonly fetchedAt: Date
}

export interface LoadCounts {
  readonly listed: number
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
}

export interface Rejected {
  readonly naturalKey: string
  readonly issues: readonly Issue[]
  readonly payload: string
}

/** A stream that is one short list, read whole once a run for each dealer group. */
export interface SnapshotStream {
  readonly kind: 'snapshot'
  readonly name: string
  readonly endpoint: string
  read(sources: Sources, rooftop: RooftopRow, options: CallOptions): Promise<SnapshotPayload[]>
  /** Brings the tables to what the payloads say; writes what differs and nothing else. */
  load(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    payloads: readonly SnapshotPayload[],
    wire: AppraisalWire,
  ): Promise<{ counts: LoadCounts; rejected: readonly Rejected[] }>
}

/** The settings of the config that enrichment streams go by. */
export interface EnrichmentSettings {
  readonly pricing: { readonly reasoning: boolean; readonly budget: number }
  readonly checks: {
    readonly lookForNewDays: number
    readonly lookEveryDays: number
    readonly dailyForDays: number
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
export interface DueAsk {
  readonly now: Date
  readonly runStart: Date
  readonly limit: number
  /** Evaluations that may still be asked about in this run. */
  readonly budget: number
  /** Only these natural keys, whether due or not; null: whatever is due. */
  readonly only: readonly string[] | null
  /** links: nothing but signed links that are about to expire. */
  readonly scope: 'all' | 'links'
  /** The rooftops of the config that share the dealer group, by id; the rooftop itself among them. */
  readonly siblings: readonly number[]
}

/** An answer as normalised. */
export interface Enriched<R> {
  readonly evalId: number
  readonly ask: string
  readonly record: R
  /** The source's time of the answer. */
  readonly at: Date
}

export type LoadOutcome = 'inserted' | 'updated' | 'unchanged'

/** What of a record contradicts itself or the document, though it fits. Facts, never a customer's data. */
export interface RecordWarning {
  /** Name of the check, e.g. `entry-date-disagrees`. */
  readonly check: string
  readonly detail: string
}

/** What an answer did to the warehouse. */
export interface Loaded {
  readonly outcome: LoadOutcome
  readonly warnings: readonly RecordWarning[]
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
  /** How an answer that is not complete yet is asked for again. */
  readonly polling: { readonly everySeconds: number; readonly patienceSeconds: number }
  /** 403: `abort` is about the key or the evaluation; `skip`: the key's region has no such thing, which is no error. */
  readonly forbidden: 'abort' | 'skip'
  /** Whether the source answers for the rooftop at all; where it does not, there is nothing to do. */
  serves(rooftop: RooftopRow): boolean
  /** Asked for one rooftop in one run, at most. */
  budget(settings: EnrichmentSettings): number
  /** Most urgent first. */
  due(
    db: Kysely<Tables>,
    rooftop: Pick<RooftopRow, 'id' | 'groupId'>,
    ask: DueAsk,
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
  daysUntilAgain(ageDays: number, ask: string, settings: EnrichmentSettings): number | null
  /** Writes what differs and tells of each answer what that was, in order. */
  load(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    answers: readonly Enriched<R>[],
    runId: number,
    wire: AppraisalWire,
  ): Promise<Loaded[]>
  /** Calls that the rooftop's run did not need: what asking everything about every evaluation would have taken beyond them. */
  saved(
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

/** The settings of the config that batch streams go by. */
export interface BatchSettings {
  readonly vehicleData: { readonly apiKey: string | null }
  readonly prices: { readonly batchSize: number; readonly market: string | null }
}

/** A unit on hand as a batch asks about it. Its stock number is the reference that its result comes back under. */
export interface BatchUnit {
  readonly stockNo: string
  readonly vin: string | null
  readonly adcode: string | null
  readonly odometerKm: number | null
}

/** What is due in a run. */
export interface BatchAsk {
  readonly runId: number
  /** The source's clock when the run began. */
  readonly sourceStart: Date
  readonly limit: number
  /** Also what was answered lately, because somebody asks for it now. */
  readonly again: boolean
}

/** What the service knows of a VIN. */
export interface LookUp {
  readonly vin: string
  readonly outcome: 'decoded' | 'unknown'
  readonly adcode: string | null
  /** The source's time of the answer, where it told. */
  readonly at: Date | null
}

/** An entry of the results of a batch. */
export interface BatchResult<R = unknown> {
  readonly reference: string | null
  readonly record: R
}

/** A batch as a poll finds it. */
export interface BatchProgress<R = unknown> {
  /** From 0 to 100. */
  readonly percent: number
  /** In any order; null until it is complete. */
  readonly results: readonly BatchResult<R>[] | null
  readonly text: string
  /** The source's time of the answer, where it told. */
  readonly at: Date | null
}

/** A result that has found its unit. */
export interface BatchAnswer<R = unknown> {
  readonly unit: BatchUnit
  readonly record: R
  /** The source's time of the answer. */
  readonly at: Date
}

/** What a result did to the warehouse; `failed`: it says why there are no prices. */
export interface BatchLoaded extends Loaded {
  readonly priced: 'priced' | 'failed'
}

/** A unit, or the rooftop itself, that is not asked about. */
export interface NotAsked extends RecordWarning {
  /** The stock number; the rooftop's uid where it is about all of them. */
  readonly naturalKey: string
}

/**
 * A stream that asks about all units on hand at once, in batches that the source works through while it is polled.
 * `R` is a result as the stream has normalised it. The ledger of batches, their sizes, payloads and reports are the pipeline's.
 */
export interface BatchStream<R = unknown> {
  readonly kind: 'batch'
  readonly name: string
  /** Key of the results in `raw.payload`. */
  readonly endpoint: string
  /** Between two polls, and how long a batch may stand still. */
  readonly polling: { readonly everySeconds: number; readonly patienceSeconds: number }
  /** Why nothing is asked for the rooftop, and what to do; null: it is. */
  refusal(rooftop: RooftopRow, settings: BatchSettings): string | null
  countOnHand(db: Kysely<Tables>, rooftop: RooftopRow): Promise<number>
  /** VINs to look up before the units are asked about: each once, one in vain again after a while by the clock of `keepLookUps`. */
  lookUpsDue(db: Kysely<Tables>, rooftop: RooftopRow, limit: number, now: Date): Promise<string[]>
  lookUp(sources: Sources, rooftop: RooftopRow, vin: string, options: CallOptions): Promise<LookUp>
  keepLookUps(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    lookUps: readonly LookUp[],
    now: Date,
  ): Promise<void>
  /** By stock number; nothing that is in an open batch, and nothing twice in a run. */
  due(db: Kysely<Tables>, rooftop: RooftopRow, ask: BatchAsk): Promise<BatchUnit[]>
  /** Units on hand that cannot be asked about, each with its reason. */
  notAsked(db: Kysely<Tables>, rooftop: RooftopRow): Promise<NotAsked[]>
  /** Gives the id that the batch is polled by. MissingAnswer when the answer holds none. */
  submit(
    sources: Sources,
    rooftop: RooftopRow,
    batch: { readonly batchNo: number; readonly units: readonly BatchUnit[] },
    settings: BatchSettings,
    options: CallOptions,
  ): Promise<string>
  /** MissingAnswer when the answer does not hold what the wire settings say. */
  poll(
    sources: Sources,
    batch: { readonly batchNo: number; readonly batchId: string },
    options: CallOptions,
  ): Promise<BatchProgress<R>>
  /** Writes what differs and tells of each answer what that was, in order. */
  load(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    answers: readonly BatchAnswer<R>[],
    runId: number,
  ): Promise<BatchLoaded[]>
}

export type Stream = WindowedStream | SnapshotStream | EnrichmentStream | BatchStream

/** Declares a windowed stream; the record's type stays inside the stream's own file. */
export function defineWindowedStream<R>(stream: Omit<WindowedStream<R>, 'kind'>): WindowedStream {
  return { kind: 'windowed', ...stream } as unknown as WindowedStream
}

export function defineSnapshotStream(stream: Omit<SnapshotStream, 'kind'>): SnapshotStream {
  return { kind: 'snapshot', ...stream }
}

/** Declares an enrichment stream; the answer's type stays inside the stream's own files. */
export function defineEnrichmentStream<R>(
  stream: Omit<EnrichmentStream<R>, 'kind'>,
): EnrichmentStream {
  return { kind: 'enrichment', ...stream } as unknown as EnrichmentStream
}

/** Declares a batch stream; the result's type stays inside the stream's own files. */
export function defineBatchStream<R>(stream: Omit<BatchStream<R>, 'kind'>): BatchStream {
  return { kind: 'batch', ...stream } as unknown as BatchStream
}
