import type { Kysely } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type { CallOptions } from '../sources/http.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Sources } from './stream-sources.ts'
import type { Issue } from './record.ts'

/** A list as received. */
export interface SnapshotPayload {
  readonly naturalKey: string
  readonly text: string
  readonly fetchedAt: Date
}

/** Items of the lists, by what the load did to them. */
export interface LoadCounts {
  readonly listed: number
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
}

/** An item that goes to quarantine. */
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
  /** The keys of all items of the payloads, as quarantine names them. */
  keysOf(payloads: readonly SnapshotPayload[]): string[]
  /** Updates the tables from the payloads; writes only what differs. Rejects the `refused` items with their issues. */
  load(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    payloads: readonly SnapshotPayload[],
    wire: AppraisalWire,
    refused?: ReadonlyMap<string, readonly Issue[]>,
  ): Promise<{ counts: LoadCounts; rejected: readonly Rejected[] }>
}

export function defineSnapshotStream(stream: Omit<SnapshotStream, 'kind'>): SnapshotStream {
  return { kind: 'snapshot', ...stream }
}
