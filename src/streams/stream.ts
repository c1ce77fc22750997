import type { Kysely } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type {
  AppraisalClient,
  CallOptions,
  FetchedEvaluation,
} from '../sources/appraisal/client.ts'
import type { EvaluationList } from '../sources/appraisal/evaluation-list.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Window } from '../values/window.ts'
import type { RooftopRow } from '../values/rooftop.ts'

/** What a stream may reach of the sources: reads only. */
export interface Sources {
  readonly appraisal: Pick<AppraisalClient, 'listEvaluations' | 'getEvaluation' | 'listUsers'>
  readonly wire: AppraisalWire
}

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
  readonly idColumn: string
  /** JSON paths that the document names, and those it says are always there: for the drift report. */
  readonly documented: { readonly paths: ReadonlySet<string>; readonly required: readonly string[] }

  list(
    sources: Sources,
    rooftop: RooftopRow,
    range: { from: number; until: number | null },
    options: CallOptions,
  ): Promise<EvaluationList>
  hydrate(
    sources: Sources,
    rooftop: RooftopRow,
    id: number,
    options: CallOptions,
  ): Promise<FetchedEvaluation>
  /** Pure. RecordIssues when it does not fit. `body` is the parsed payload. */
  normalise(body: unknown, id: number, rooftop: RooftopRow, wire: AppraisalWire): R
  /** The numeric dealership that the payload names, where it names one. */
  dealerOf(body: unknown, id: number, wire: AppraisalWire): number | null
  /** What of a record contradicts itself or the document, though it fits. */
  warnings(record: R): readonly { readonly check: string; readonly detail: string }[]
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

export type Stream = WindowedStream | SnapshotStream

/** Declares a windowed stream; the record's type stays inside the stream's own file. */
export function defineWindowedStream<R>(stream: Omit<WindowedStream<R>, 'kind'>): WindowedStream {
  return { kind: 'windowed', ...stream } as unknown as WindowedStream
}

export function defineSnapshotStream(stream: Omit<SnapshotStream, 'kind'>): SnapshotStream {
  return { kind: 'snapshot', ...stream }
}
