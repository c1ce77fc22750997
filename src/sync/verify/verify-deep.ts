import pLimit from 'p-limit'
import type { Context } from '../../context.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { halve, type Window } from '../../values/window.ts'
import { readQuarantinedKeys } from '../records/quarantine.ts'
import { storedRecords, vanishedKeys } from '../records/stored-records.ts'
import { pickSources } from '../run/sources.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import type { IsoSpan } from './verify-stored.ts'

/** The result of listing all certified windows again. */
export interface DeepVerification {
  readonly rooftop: string
  readonly stream: string
  readonly windows: number
  readonly requests: number
  /** Listed by the source now, but neither stored nor in quarantine. */
  readonly missing: readonly string[]
  /** Windows where ids(whole) <> ids(left) + ids(right). */
  readonly notConserved: readonly IsoSpan[]
  /** Windows with missing records or without conservation. */
  readonly doubtful: readonly IsoSpan[]
}

type Deep = Pick<Context, 'db' | 'appraisal' | 'services' | 'config' | 'signal'>

/** Lists every certified window again, whole and in halves, and compares the ids with the warehouse. Reads no records, writes nothing. */
export async function verifyDeep(
  context: Deep,
  stream: WindowedRecords,
  rooftop: RooftopRow,
): Promise<DeepVerification> {
  const certificates = await context.db
    .selectFrom('ops.window_certificate')
    .select(['window_from', 'window_until'])
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .orderBy('window_from')
    .execute()
  const limit = pLimit(context.config.http.concurrency)
  let requests = 0
  const list = async ({ from, until }: Window): Promise<Set<number>> => {
    requests++
    const { items } = await stream.list(
      pickSources(context),
      rooftop,
      { from, until },
      { signal: context.signal },
    )
    return new Set(items.map((item) => item.id))
  }
  const checked = await Promise.all(
    certificates.map((row) =>
      limit(async () => {
        const window = {
          from: row.window_from.getTime() / 1000,
          until: row.window_until.getTime() / 1000,
          open: false,
        }
        return { window, ...(await checkWindow(context, stream, rooftop, window, list)) }
      }),
    ),
  )
  return {
    rooftop: rooftop.uid,
    stream: stream.name,
    windows: certificates.length,
    requests,
    missing: checked.flatMap(({ missing }) => missing.map(String)),
    notConserved: checked.filter(({ conserved }) => !conserved).map(isoSpan),
    doubtful: checked
      .filter(({ conserved, missing }) => !conserved || missing.length > 0)
      .map(isoSpan),
  }
}

function isoSpan({ window }: { readonly window: Window }): IsoSpan {
  return {
    from: fromUnixSeconds(window.from).toISOString(),
    until: fromUnixSeconds(window.until).toISOString(),
  }
}

/** Lists a window whole and in halves, and finds records that the warehouse does not know. */
async function checkWindow(
  { db }: Deep,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  window: Window,
  list: (window: Window) => Promise<Set<number>>,
): Promise<{ missing: number[]; conserved: boolean }> {
  const whole = await list(window)
  const halves = whole.size >= 2 ? halve(window) : null
  const parts = halves === null ? whole : (await list(halves[0])).union(await list(halves[1]))
  const all = [...whole.union(parts)]
  const known = new Set((await storedRecords(db, stream, rooftop, all)).map(({ id }) => id))
  const quarantined = await readQuarantinedKeys(
    db,
    { stream: stream.name, rooftopId: rooftop.id },
    all.map(String),
  )
  const vanished = await vanishedKeys(db, stream, rooftop, all.map(String))
  const missing = all.filter(
    (id) => !known.has(id) && !quarantined.has(String(id)) && !vanished.has(String(id)),
  )
  return { missing, conserved: parts.isSubsetOf(whole) && whole.isSubsetOf(parts) }
}
