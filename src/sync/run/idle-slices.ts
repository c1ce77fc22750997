import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pLimit from 'p-limit'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Window } from '../../values/window.ts'
import { type Db, inTransaction, prepared, type Tx } from '../../warehouse/db/transaction.ts'
import { type Certificate, certify, firstFaulty } from '../windows/certificate.ts'
import { type DueWindow, findDueWindows } from '../windows/due-windows.ts'
import { type ProvenPart, proveWindow } from '../windows/prove.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { completeSlices } from './commit-slice.ts'
import { addCounts, zeroCounts } from './run-ledger.ts'
import { inWindowSpan } from './run-spans.ts'
import { pickSources } from './sources.ts'
import { callOptions, type SliceJob, type SliceResult, type Stream } from './stream.ts'

// Most rooftops have nothing new in a night. One by one, each costs dozens of statements; together they cost the same number once.

/** Rooftops that are planned and completed together, at most. */
export const rooftopsAtOnce = 64
/** Rooftops whose windows are listed at once. */
const listedAtOnce = 16
/** Windows of a rooftop that are listed at once: few, so that a rooftop whose lists hang leaves the others room at their key. */
const windowsAtOnce = 2
/** How long a rooftop that has answered waits for others, to be completed together with them. */
const longestWaitMs = 5_000

type Job = SliceJob<Stream>

/** Windows of a rooftop, at most: a night lists the recent ones and a part of the older ones. */
const maxWindows = 512

/**
 * The first slices of one run's stream at some rooftops. Where nothing was listed before and nothing is listed now, the windows are
 * certified and the work is completed. The other rooftops return to the queue for a slice of their own. Rooftops that have answered
 * are committed together, in one transaction, and yielded with the results of the idle ones. An exception leaves the rooftops that
 * were not yielded as they were: the caller repeats their slices one by one.
 */
export async function* idleSlices(
  jobs: readonly Job[],
): AsyncGenerator<ReadonlyMap<Job, SliceResult | null>> {
  const { context, run, stream } = jobs[0]!
  const { sync } = context.config
  context.crashPoint('slice-claimed')
  const rooftopIds = jobs.map(({ rooftop }) => rooftop.id)
  const due = await findDueWindows(
    context.db,
    { run, stream: stream.name, rooftopIds },
    sync,
    maxWindows,
  )
  const quiet = await quietRooftops(context.db, stream.records!, rooftopIds, due)
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const limit = pLimit(listedAtOnce)
  const answered: Answered[] = []
  const list = async (job: Job) => {
    const { id } = job.rooftop
    answered.push({
      job,
      parts: quiet.has(id) ? await listEmpty(job, due.get(id) ?? [], signal) : null,
    })
  }
  const allListed = Promise.all(jobs.map((job) => limit(list, job)))
  try {
    for (let left = jobs.length; left > 0; ) {
      await Promise.race([allListed, sleep(longestWaitMs, undefined, { ref: false })])
      const taken = answered.splice(0)
      if (taken.length === 0) continue
      context.crashPoint('window-listed')
      context.signal.throwIfAborted()
      yield await commit(taken)
      left -= taken.length
    }
  } finally {
    // A rooftop that is repeated alone lists again.
    stop.abort()
  }
}

/** A rooftop whose lists have ended; `parts` null: it needs a slice of its own. */
interface Answered {
  readonly job: Job
  readonly parts: readonly ProvenPart[] | null
}

/** Certifies the windows of idle rooftops and completes the work of all. */
async function commit(answered: readonly Answered[]): Promise<Map<Job, SliceResult | null>> {
  const { context, run, stream } = answered[0]!.job
  const slices = answered.map(({ job, parts }) => {
    const counts = addCounts(addCounts(zeroCounts, job.traffic), { windows: parts?.length ?? 0 })
    return { job, counts, status: parts === null ? 'running' : 'ok' } as const
  })
  const certified = answered.flatMap(({ job, parts }) =>
    parts === null ? [] : { rooftopId: job.rooftop.id, certificates: parts.map(emptyCertificate) },
  )
  context.crashPoint('before-commit')
  const write = async (tx: Tx) => {
    const scope = { run, stream: stream.name }
    await certify(tx, scope, certified, context.config.sync)
    context.crashPoint('rows-written')
    await completeSlices(tx, { context, run, stream }, slices)
    context.crashPoint('ledger-written')
  }
  await inTransaction(context.pool, write, 'slice')
  context.crashPoint('committed')
  return new Map(
    slices.map(({ job, counts, status }) => [
      job,
      status === 'ok' ? { counts, more: false } : null,
    ]),
  )
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
  const candidates = rooftopIds.filter((id) => (due.get(id)?.length ?? 0) < maxWindows)
  const spans = candidates.flatMap((rooftopId) =>
    (due.get(rooftopId) ?? []).map((window) => ({ rooftopId, ...window })),
  )
  const { rows } = await prepared(sql<{ rooftopId: number }>`
    with due as (
      -- The newest window ends when it is listed.
      select rooftop_id, start, case when is_open then 'infinity' else stop end as stop
      from unnest(${spans.map(({ rooftopId }) => rooftopId)}::int[], ${spans.map(({ from }) => fromUnixSeconds(from))}::timestamptz[],
        ${spans.map(({ until }) => fromUnixSeconds(until))}::timestamptz[], ${spans.map(({ open }) => open)}::boolean[])
        as span (rooftop_id, start, stop, is_open)
    )
    select rooftop_id as "rooftopId" from unnest(${candidates}::int[]) as rooftop (rooftop_id)
    where exists (select from ops.window_certificate as listed where listed.rooftop_id = rooftop.rooftop_id and stream = ${name})
      and ${firstFaulty(sql.ref('rooftop.rooftop_id'), name)} is null
    except select rooftop_id from due where exists (
      select from ops.certificates_over(due.rooftop_id, ${name}, start, stop) where listed <> 0)
    except select rooftop_id from due where exists (
      select from ${sql.table(tables[0]!)} as record
      where record.rooftop_id = due.rooftop_id and record.entry_at >= start and record.entry_at < stop offset 0)
    except select rooftop_id from ops.quarantine where stream = ${name} and resolved_at is null`).execute(
    db,
  )
  return new Set(rows.map(({ rooftopId }) => rooftopId))
}

/**
 * Lists the windows, the newest first; null when one has a record or cannot be listed, so that the rooftop needs a slice of its own.
 * No further window is listed then.
 */
async function listEmpty(
  job: Job,
  due: readonly DueWindow[],
  batchSignal: AbortSignal,
): Promise<ProvenPart[] | null> {
  const { context, rooftop, stream } = job
  const stop = new AbortController()
  const signal = AbortSignal.any([batchSignal, stop.signal])
  const options = { ...callOptions(job), signal }
  const isEmpty = (items: readonly unknown[]) => items.length === 0
  const list = async ({ from, until, open }: Window) => {
    const range = { from, until: open ? null : until }
    const listing = await stream.records!.list(pickSources(context), rooftop, range, options)
    if (isEmpty(listing.items) && isEmpty(listing.malformed)) return listing
    throw new NotEmpty()
  }
  const limit = pLimit(windowsAtOnce)
  const proofs = due.map((window) =>
    limit(async () => {
      signal.throwIfAborted()
      const listLimit = { largest: 0, cap: null }
      const options = { list, listLimit, isConfirmed: isEmpty, maxItems: 0 }
      return await inWindowSpan(job, window, async () => await proveWindow(window, options))
    }),
  )
  try {
    return (await Promise.all(proofs)).flatMap(({ parts }) => parts)
  } catch (error) {
    stop.abort()
    // The requests that were sent are counted.
    await Promise.allSettled(proofs)
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
