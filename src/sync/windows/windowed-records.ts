import type { Kysely } from 'kysely'
import type { MalformedItem } from '../../api/sources/appraisal/answers.ts'
import type { CallOptions } from '../../api/sources/http.ts'
import type { PeopleOfRecords } from '../../values/person.ts'
import type { RecordWarning, Row, RowSet } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Window } from '../../values/window.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { NamedFields } from '../records/named-fields.ts'
import type { Sources } from '../run/sources.ts'

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

/** The list of a window: each id once, in the order received. */
export interface RecordList {
  readonly items: readonly ListedRecord[]
  /** Items without an id, a few among many that have one. */
  readonly malformed: readonly MalformedItem[]
  /** The source's time of the answer. */
  readonly listedAt: Date
}

/** An item of a list. */
export interface ListedRecord {
  readonly id: number
  /** As sent; null: the list gives no update times. */
  readonly updatedAt: string | null
}

/** A record as received. vanished: the source does not know it. */
export type FetchedRecord =
  | { readonly kind: 'found'; readonly text: string; readonly fetchedAt: Date }
  | { readonly kind: 'vanished' }

/** What a merge makes of a record. */
export interface MergeResult {
  /** stale: older than what is stored, which stays. */
  readonly outcome: 'inserted' | 'updated' | 'unchanged' | 'stale'
  /** The new rows of the record, complete for each table that is named; only with `inserted` and `updated`. */
  readonly rows?: RowSet
}

/** A record whose older payloads were deleted. */
export interface Resumed {
  /** Its rows before the oldest stored payload, which is merged into them. */
  readonly before: RowSet
  /** Adds to the rebuilt rows what only the stored ones say. */
  complete(rebuilt: RowSet): RowSet
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
 * Records that the source lists by the time of their creation, and answers for one at a time. `R` is a normalised record.
 * The pipeline plans and proves the windows, chooses what is read, and loads it.
 */
export interface WindowedRecords<R = unknown> {
  /** The stream's. */
  readonly name: string
  /** Key of the record's payloads in `raw.payload`. */
  readonly endpoint: string
  /** Tables of a record, its own first; all are keyed by `rooftop_id` and `idColumn`. Its own also has `group_id`, `entry_at` (the
   *  time that places it in a window), `created_at`, `source_updated_at`, `gone_at` and `run_id`; an index on `rooftop_id` and
   *  `entry_at`, and a unique one on `group_id` and `idColumn`, whose values are positive safe integers. */
  readonly tables: readonly string[]
  /** Tables of other streams with the same key: their rows only move with the record to another rooftop. */
  readonly dependentTables: readonly string[]
  /** Endpoints of other streams whose payloads have its id as their key: they move with the record too. A paid answer does not: it
   *  belongs to the rooftop that paid. */
  readonly dependentEndpoints: readonly string[]
  readonly idColumn: string
  /** The column of its own table with the instant that ageing counts from; `created_at` where it is null. */
  readonly ageingColumn: string
  /** Whether the records are evaluations, which the sums of the reports count. */
  readonly isSummed?: true
  /** JSON paths that the document names, and those it says are always there: for the drift report. */
  readonly documented: { readonly paths: ReadonlySet<string>; readonly required: readonly string[] }

  /** Lists the records that were created in the range, in Unix seconds of the source; `until: null` includes the most recent. */
  list(
    sources: Sources,
    rooftop: RooftopRow,
    range: { from: number; until: number | null },
    options: CallOptions,
  ): Promise<RecordList>
  /** Reads one record. */
  hydrate(
    sources: Sources,
    rooftop: RooftopRow,
    id: number,
    options: CallOptions,
  ): Promise<FetchedRecord>
  /** Pure. RecordIssues when it does not fit. `body` is the parsed payload, `readAt` the source's clock when it was read. */
  normalise(body: unknown, id: number, rooftop: RooftopRow, wire: AppraisalWire, readAt: Date): R
  /** The numeric dealership that the payload names, where it names one. */
  readDealer(body: unknown, id: number, wire: AppraisalWire): number | null
  /** The customers that the payloads name; left out: they name none. */
  readonly people?: PeopleOfRecords
  /** The fields whose names are settings; left out: it has none. */
  readonly names?: NamedFields
  /** The contradictions in a record that fits. */
  warnings(record: R): readonly RecordWarning[]
  /** The part of the parsed payload that the drift report walks. */
  findRecord(body: unknown, id: number): unknown
  /** When the record was created as the list sees it. */
  entryAt(record: R): Date
  /** Finds what the records refer to (salespeople), in the load's transaction. `add`, the default: adds what is missing. */
  resolve(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    records: readonly R[],
    wire: AppraisalWire,
    mode?: 'add' | 'read',
  ): Promise<(record: R) => Row>
  /** Pure. Merges a record into the stored rows. */
  merge(
    stored: RowSet | null,
    record: R,
    links: Row,
    rooftop: RooftopRow,
    origin: Origin,
  ): MergeResult
  /** Pure. Where a record's oldest stored payload, which was read at `at`, is not its first one: what its stored rows say about the
   *  time before. null: no payload was deleted. */
  resume(stored: RowSet, at: Date): Resumed | null
}

type Stated = 'name' | 'endpoint' | 'tables' | 'idColumn' | 'list' | 'hydrate' | 'normalise'

/** What a declaration states; the rest has defaults. */
type RecordsDraft<R> = Pick<WindowedRecords<R>, Stated | 'entryAt' | 'merge'> &
  Partial<WindowedRecords<R>>

/** Declares the records of a stream; their type stays inside the stream's own files. Defaults: they name no customer and no
 *  dealership, refer to nothing, contradict nothing, and have one state each. */
export function defineRecords<R>(draft: RecordsDraft<R>): WindowedRecords {
  return {
    dependentTables: [],
    dependentEndpoints: [],
    ageingColumn: 'created_at',
    documented: { paths: new Set(), required: [] },
    readDealer: () => null,
    warnings: () => [],
    findRecord: (body: unknown) => body,
    resolve: async () => () => ({}),
    resume: () => null,
    ...draft,
  } as unknown as WindowedRecords
}
