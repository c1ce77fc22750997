import type { BatchStream } from './batch-stream.ts'
import type { EnrichmentStream } from './enrichment-stream.ts'
import type { SnapshotStream } from './snapshot-stream.ts'
import type { WindowedStream } from './windowed-stream.ts'

/** A stream of any kind; the pipeline runs each by its kind. */
export type Stream = WindowedStream | SnapshotStream | EnrichmentStream | BatchStream
