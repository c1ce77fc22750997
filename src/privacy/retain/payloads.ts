import { sql } from 'kysely'
import type { Context } from '../../context.ts'
import { allStreams } from '../../streams/all.ts'

/** Calls that are repeated, so that a newer answer replaces an older one. A paid answer
 *  always stays: it is the receipt of its cost. */
const repeated = allStreams.flatMap(({ endpoints }) => endpoints)

interface Entry {
  readonly naturalKey: string
  readonly fetchedAt: Date
}

/** Deletes payloads that were read before the cutoff and have a newer one of the same record. Reads every index entry
 *  once, and no body. Returns how many were deleted. */
export async function deletePayloads(
  { db, signal }: Pick<Context, 'db' | 'signal'>,
  cutoff: Date,
  batchSize: number,
): Promise<number> {
  const { rows: rooftops } = await sql<{ id: number }>`
    select rooftop_id as id from core.rooftop order by 1`.execute(db)
  let deleted = 0
  for (const { id } of rooftops) {
    for (const endpoint of repeated) {
      let after: Entry | null = { naturalKey: '', fetchedAt: new Date(0) }
      while (after !== null) {
        signal.throwIfAborted()
        const page: Page = await deleteNext(db, [id, endpoint, after, cutoff, batchSize])
        deleted += page.gone
        after = page.checked < batchSize ? null : page.last
      }
    }
  }
  return deleted
}

interface Page {
  readonly last: Entry | null
  readonly checked: number
  readonly gone: number
}

async function deleteNext(
  db: Context['db'],
  [rooftopId, endpoint, after, cutoff, limit]: readonly [number, string, Entry, Date, number],
): Promise<Page> {
  // The next entries in the order of the key, and how many were deleted. The last entry is where the next page starts.
  const { rows } = await sql<{
    key: string | null
    at: Date | null
    checked: number
    gone: number
  }>`
    with page as materialized (
      select natural_key, fetched_at, fetched_at < ${cutoff} and exists (
        select from raw.payload as newer
        where newer.rooftop_id = ${rooftopId} and newer.endpoint = ${endpoint} and newer.natural_key = here.natural_key
          and newer.fetched_at > here.fetched_at) as is_over
      from raw.payload as here
      where rooftop_id = ${rooftopId} and endpoint = ${endpoint}
        and (natural_key, fetched_at) > (${after.naturalKey}, ${after.fetchedAt}::timestamptz)
      order by natural_key, fetched_at limit ${limit}
    ), gone as (
      delete from raw.payload as old using page
      where is_over and old.rooftop_id = ${rooftopId} and old.endpoint = ${endpoint}
        and old.natural_key = page.natural_key and old.fetched_at = page.fetched_at
      returning 1
    ), last as (
      select natural_key, fetched_at from page order by natural_key desc, fetched_at desc limit 1
    )
    select (select natural_key from last) as key, (select fetched_at from last) as at,
      (select count(*)::int from page) as checked, (select count(*)::int from gone) as gone`.execute(
    db,
  )
  const { key, at, checked, gone } = rows[0]!
  return { last: key === null ? null : { naturalKey: key, fetchedAt: at! }, checked, gone }
}
