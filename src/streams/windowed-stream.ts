import type { Kysely } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type { FetchedEvaluation } from '../sources/appraisal/client.ts'
import type { CallOptions } from '../sources/http.ts'
import type { EvaluationList } from '../sources/appraisal/answers.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Span, Window } from '../values/window.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { ListSources } from './stream-sources.ts'
import type { RecordWarning, Row, RowSet } from './record.ts'

/** Where and when a payload was read. */
export interface Origin {
  readonly fetchedAt: Date
  /** The source's clock at the reading; left out: the record's times are not compared with it. */
  readonly readAt?: Date
  readonly runId: number
  /** The window whose list named the record; null: no list did. */
  readonly listedIn: Window | null
  /** When its customer was erased; left out or null: not erased. */
  readonly erasedAt?: Date | null
}

/** The person that a record names: personal data. */
export interface Person {
  readonly name: string | null
  readonly phone: string | null
  readonly email: string | null
  readonly address: string | null
  readonly suburb: string | null
  readonly plate: string | null
}

/** How to remove a person from a payload. */
export interface PersonRedaction {
  /** A text, or a number that may be one, without the person. */
  readonly redact: {
    (text: string): string
    (value: string | number): string | number
  }
  /** The new value of a customer's field, by its path; undefined leaves the field out. null: the fields stay, since they are
   *  another customer's. */
  readonly blank: ((path: string, value: unknown) => unknown) | null
}

/** What a merge makes of a record. */
export interface MergeResult {
  /** stale: older than what is stored, which stays. */
  readonly outcome: 'inserted' | 'updated' | 'unchanged' | 'stale'
  /** The new rows of the record, complete for each table that is named; only with `inserted` and `updated`. */
  readonly rows?: RowSet
}

/** What the warehouse knows about a listed record: enough to decide whether to read it again. */
export interface StoredRecord {
  readonly id: number
  readonly rooftopId: number
  readonly updatedAt: Date
  /** The time that places it in a window. */
  readonly entryAt: Date
  readonly createdAt: Date
  /** The instant that ageing counts from. */
  readonly ageingSince: Date
  readonly gone: boolean
  /** The run that wrote it last. */
  readonly runId: number
}

/**
 * A stream whose source lists what was created in a window and answers for one record at a time.
 * `R` is a normalised record. The pipeline loads what the stream reads.
 */
export interface WindowedStream<R = unknown> {
  readonly kind: 'windowed'
  readonly name: string
  /** Key of the record's payloads in `raw.payload`. */
  readonly endpoint: string
  /** Tables of a record, its own first; all are keyed by `rooftop_id` and `idColumn`. Its own has `group_id`, `entry_at` (the
   *  time that places it in a window) and `gone_at`, for `verify`. */
  readonly tables: readonly (keyof Tables & string)[]
  /** Tables of other streams with the same key: their rows only move with the record to another rooftop. */
  readonly dependentTables: readonly (keyof Tables & string)[]
  readonly idColumn: string
  /** JSON paths that the document names, and those it says are always there: for the drift report. */
  readonly documented: { readonly paths: ReadonlySet<string>; readonly required: readonly string[] }

  /** Lists the records that were created in the range, in Unix seconds of the source; `until: null` includes the most recent. */
  list(
    sources: ListSources,
    rooftop: RooftopRow,
    range: { from: number; until: number | null },
    options: CallOptions,
  ): Promise<EvaluationList>
  /** Reads one record. */
  hydrate(
    sources: ListSources,
    rooftop: RooftopRow,
    id: number,
    options: CallOptions,
  ): Promise<FetchedEvaluation>
  /** Pure. RecordIssues when it does not fit. `body` is the parsed payload, `readAt` the source's clock when it was read. */
  normalise(body: unknown, id: number, rooftop: RooftopRow, wire: AppraisalWire, readAt: Date): R
  /** The numeric dealership that the payload names, where it names one. */
  dealerOf(body: unknown, id: number, wire: AppraisalWire): number | null
  /** The customer that the payload names. */
  personOf(body: unknown, id: number, wire: AppraisalWire): Person
  /** Pure. The parsed payload without the person, so that it makes the same facts. */
  withoutPerson(body: unknown, id: number, wire: AppraisalWire, redaction: PersonRedaction): unknown
  /** The contradictions in a record that fits. */
  warnings(record: R): readonly RecordWarning[]
  /** The part of the parsed payload that the drift report walks. */
  recordOf(body: unknown, id: number): unknown
  /** When the record was created as the list sees it. */
  entryAt(record: R): Date
  /** Finds or adds what the records refer to (salespeople), in the load's transaction. */
  resolve(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    records: readonly R[],
    wire: AppraisalWire,
  ): Promise<(record: R) => Row>
  /** Pure. Merges a record into the stored rows. */
  merge(
    stored: RowSet | null,
    record: R,
    links: Row,
    rooftop: RooftopRow,
    origin: Origin,
  ): MergeResult
  /** Pure. Puts a replayed history on top of stored versions whose payloads were deleted. */
  rebase(stored: RowSet | null, rebuilt: RowSet): RowSet

  storedRecords(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    ids: readonly number[],
  ): Promise<StoredRecord[]>
  /** Those that are stored, not gone, and belong to any of the half-open spans, which do not overlap. */
  storedWithin(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    spans: readonly Span[],
  ): Promise<{ readonly id: number; readonly entryAt: Date }[]>
  /** Moves records to the time at which the list shows them. */
  setEntryTimes(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    times: ReadonlyMap<number, Date>,
  ): Promise<void>
  markGone(db: Kysely<Tables>, rooftop: RooftopRow, ids: readonly number[], at: Date): Promise<void>
}

/** Declares a windowed stream; the record's type stays inside the stream's own file. */
export function defineWindowedStream<R>(stream: Omit<WindowedStream<R>, 'kind'>): WindowedStream {
  return { kind: 'windowed', ...stream } as unknown as WindowedStream
}
