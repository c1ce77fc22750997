import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import {
  isRetriable,
  type QuarantineFilter,
  quarantineConditions,
  type RetriableBy,
} from '../explain/quarantine-list.ts'
import type { RunRequest } from '../run/start-run.ts'
import type { Stream } from '../run/stream.ts'

type Rooftops = Pick<Config, 'rooftops'>

/** Records that a run reads again by their ids at most: every take from the queue reads them with the run. */
export const maxRetried = 5_000

/** Open entries of a stream and rooftop that can be read again. */
interface Retriable {
  readonly stream: string
  readonly rooftop: string
  readonly records: number
}

/** What of a filter can be read again, by stream and rooftop. */
export async function countRetriable(
  db: Db,
  config: Rooftops,
  streams: readonly Stream[],
  filter: QuarantineFilter,
): Promise<readonly Retriable[]> {
  const { rows } = await sql<Retriable>`
    select stream, rooftop_uid as rooftop, count(*)::int as records
    from ${retriable(config, streams, filter)} group by 1, 2`.execute(db)
  return rows
}

/** The run that reads the records of a filter again, and how many there are; null: there are none. Where the filter names causes or
 *  ids, the run has the ids of the first `mostRetried`. */
export async function planRetry(
  db: Db,
  config: Rooftops,
  streams: readonly Stream[],
  filter: QuarantineFilter,
): Promise<{ readonly request: RunRequest; readonly records: number } | null> {
  const found = await countRetriable(db, config, streams, filter)
  if (found.length === 0) return null
  const records = found.reduce((sum, part) => sum + part.records, 0)
  const isByRecord = filter.cause !== undefined || filter.ids !== undefined
  const only = isByRecord ? await readIds(db, config, streams, filter) : []
  const plan = { command: 'quarantine retry', mode: 'retry', from: 0, until: 0, only } as const
  return {
    request: {
      plan,
      streams: streams.filter(({ name }) => found.some(({ stream }) => stream === name)),
      rooftops: config.rooftops.filter(({ uid }) => found.some(({ rooftop }) => rooftop === uid)),
    },
    records,
  }
}

async function readIds(...filter: Parameters<typeof countRetriable>): Promise<number[]> {
  const [db, ...rest] = filter
  const { rows } = await sql<{ id: number }>`
    select quarantine_id as id from ${retriable(...rest)} order by 1 limit ${maxRetried}`.execute(
    db,
  )
  return rows.map(({ id }) => id)
}

function retriable(config: Rooftops, streams: readonly Stream[], filter: QuarantineFilter) {
  return sql`(
    select quarantine_id, stream, rooftop_uid from ops.quarantine join core.rooftop using (rooftop_id)
    where ${quarantineConditions(filter)} and ${isRetriable(retriableBy(config, streams))}
  ) as open`
}

/** Streams that have a retry, and the rooftops of the config. */
export function retriableBy({ rooftops }: Rooftops, streams: readonly Stream[]): RetriableBy {
  return {
    streams: streams.filter(({ slices }) => slices.retry !== undefined).map(({ name }) => name),
    rooftops: rooftops.map(({ uid }) => uid),
  }
}
