import { sql } from 'kysely'
import pLimit from 'p-limit'
import { type Db, inTransaction } from '../db/transaction.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import { type Certificate, certify } from './certificate.ts'
import { completeSlices } from './commit-slice.ts'
import { type DueWindow, dueWindowsOf } from './due-windows.ts'
import { type ProvenPart, proveWindow } from './prove.ts'
import { addCounts, zeroCounts } from './run-ledger.ts'
import { sourcesOf } from './sources.ts'
import type { SliceJob, SliceResult, Stream } from './stream.ts'
import type { WindowedRecords } from './windowed-records.ts'

// Most rooftops have nothing new in a night. One by one, each costs dozens of statements; together they cost the same number once.

/** Rooftops that are planned and completed together, at most. */
export const rooftopsAtOnce = 64
/** Rooftops whose windows are listed at once. */
const listedAtOnce = 16

type Job = SliceJob<Stream>

/** Windows of a rooftop, at most: a night lists the recent ones and a part of the older ones. */
const mostWindows = 512

/**
 * The first slices of one run's stream at some rooftops. Where nothing was listed before and nothing is listed now, the windows are
 * certified and the work is completed, all in one transaction. The other rooftops return to the queue for a slice of their own.
 * Returns the results of the former. An exception has written nothing: the caller repeats the slices one by one.
 */
export async function idleSlices(jobs: readonly Job[]): Promise<Map<Job, SliceResult>> {
  const { context, run, stream } = jobs[0]!
  const { sync } = context.config
  context.crashPoint('slice-claimed')
  const rooftopIds = jobs.map(({ rooftop }) => rooftop.id)
  const scopes = { run, stream: stream.name, rooftopIds }
  const due = await dueWindowsOf(context.db, scopes, sync, mostWindows)
  const quiet = await quietRooftops(context.db, stream.records!, rooftopIds, due)
  const limit = pLimit(listedAtOnce)
  const idle = new Map<Job, readonly Certificate[]>()
  const list = async (job: Job) => {
    const parts = await listEmpty(job, due.get(job.rooftop.id) ?? [])
    if (parts !== null) idle.set(job, parts.map(emptyCertificate))
  }
  await Promise.all(
    jobs.filter(({ rooftop }) => quiet.has(rooftop.id)).map((job) => limit(() => list(job))),
  )
  context.crashPoint('window-listed')
  context.signal.throwIfAborted()
  const results = new Map<Job, SliceResult>()
  const slices = jobs.map((job) => {
    const windows = idle.get(job)?.length
    const counts = addCounts(addCounts(zeroCounts, job.traffic), { windows: windows ?? 0 })
    if (windows !== undefined) results.set(job, { counts, more: false })
    return { job, counts, status: windows === undefined ? 'running' : 'ok' } as const
  })
  context.crashPoint('before-commit')
  await inTransaction(context.pool, async (tx) => {
    const certified = [...idle].map(([{ rooftop }, certificates]) => ({
      ...{ rooftopId: rooftop.id, certificates },
    }))
    await certify(tx, scopes, certified, sync.settleDays)
    context.crashPoint('rows-written')
    await completeSlices(tx, { context, run, stream }, slices)
    context.crashPoint('ledger-written')
  })
  context.crashPoint('committed')
  return results
}

/**
 * Rooftops whose night needs no more than empty lists: they have been listed before, and neither a certificate nor a stored record
 * says that there is anything in a window that is due; nothing of them is in quarantine or unprovable. What is due fits in one slice.
 */
async function quietRooftops(
  db: Db,
  { name, tables }: WindowedRecords,
  rooftopIds: readonly number[],
  due: ReadonlyMap<number, readonly DueWindow[]>,
): Promise<Set<number>> {
  const candidates = rooftopIds.filter((id) => (due.get(id)?.length ?? 0) < mostWindows)
  const spans = candidates.flatMap((rooftopId) =>
    (due.get(rooftopId) ?? []).map((window) => ({ rooftopId, ...window })),
  )
  const { rows } = await sql<{ rooftopId: number }>`
    with due as (
      -- The newest window ends when it is listed.
      select rooftop_id, start, case when is_open then 'infinity' else stop end as stop
      from unnest(${spans.map(({ rooftopId }) => rooftopId)}::int[], ${spans.map(({ from }) => fromUnixSeconds(from))}::timestamptz[],
        ${spans.map(({ until }) => fromUnixSeconds(until))}::timestamptz[], ${spans.map(({ open }) => open)}::boolean[])
        as span (rooftop_id, start, stop, is_open)
    ), certificate as (
      select rooftop_id, window_from, window_until, listed = 0 as is_empty, proof = 'unprovable' or listed <> loaded + quarantined + vanished as is_faulty
      from ops.window_certificate where stream = ${name} and rooftop_id = any(${candidates}::int[])
    )
    select rooftop_id as "rooftopId" from certificate group by rooftop_id having not bool_or(is_faulty)
    except select certificate.rooftop_id from due join certificate using (rooftop_id)
      where window_from < stop and window_until > start and not is_empty
    except select record.rooftop_id from due join ${sql.table(tables[0]!)} as record using (rooftop_id)
      where record.entry_at >= start and record.entry_at < stop
    except select rooftop_id from ops.quarantine where stream = ${name} and resolved_at is null`.execute(
    db,
  )
  return new Set(rows.map(({ rooftopId }) => rooftopId))
}

/** Lists the windows; null when one has a record or cannot be listed, so that the rooftop needs a slice of its own. */
async function listEmpty(job: Job, due: readonly DueWindow[]): Promise<ProvenPart[] | null> {
  const { context, rooftop, stream, traffic } = job
  const options = { signal: context.signal, onAttempt: traffic.onAttempt }
  const isEmpty = (items: readonly unknown[]) => items.length === 0
  try {
    const proofs = await Promise.all(
      due.map((window) =>
        proveWindow(window, {
          list: async ({ from, until, open }) => {
            const range = { from, until: open ? null : until }
            const listing = await stream.records!.list(sourcesOf(context), rooftop, range, options)
            if (isEmpty(listing.items) && isEmpty(listing.malformed)) return listing
            throw new NotEmpty()
          },
          listLimit: { largest: 0, cap: null },
          isConfirmed: isEmpty,
          maxItems: 0,
        }),
      ),
    )
    return proofs.flatMap(({ parts }) => parts)
  } catch (error) {
    // The rooftop's own slice repeats the request and reports what is wrong.
    if (!(error instanceof NotEmpty))
      context.log.debug({ err: error, rooftop: rooftop.uid }, 'not listed')
    return null
  }
}

class NotEmpty extends Error {}

function emptyCertificate(part: ProvenPart): Certificate {
  return {
    ...{ part, listed: [], rereadAt: part.listedAt },
    ...{ leastEntryAt: null, greatestEntryAt: null },
  }
}
