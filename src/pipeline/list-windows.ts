import type { WindowedStream } from '../streams/windowed-stream.ts'
import { type EarlierCertificate, idsDigest } from './certificate.ts'
import type { DueWindow } from './due-windows.ts'
import { type ListLimit, type Listing, type ProvenPart, proveWindow } from './prove.ts'
import { dayNumber, latestRotationStart } from '../values/window.ts'
import { type SliceJob, sourcesOf } from './slice.ts'

export const windowsPerSlice = 64

export interface ListedWindows {
  readonly parts: readonly ProvenPart[]
  /** What was known of the due windows before. */
  readonly earlier: readonly EarlierCertificate[]
  readonly knowledge: ListLimit
  readonly more: boolean
}

/** Lists due windows in waves until the slice is full. A wave is as wide as the records seen so far let expect. */
export async function listWindows(
  job: SliceJob<WindowedStream>,
  due: readonly DueWindow[],
  earlier: readonly EarlierCertificate[],
  before: ListLimit,
): Promise<ListedWindows> {
  const parts: ProvenPart[] = []
  const { records: recordsPerSlice } = job.context.sliceLimits
  let knowledge = before
  let next = 0
  let records = 0
  while (next < due.length && records < recordsPerSlice) {
    const average = next === 0 ? recordsPerSlice / 4 : Math.max(records / next, 1)
    const width = Math.max(
      1,
      Math.min(Math.ceil((recordsPerSlice - records) / average), 16, due.length - next),
    )
    const wave = due.slice(next, next + width)
    const proofs = await Promise.all(wave.map((window) => listOne(job, window, earlier, knowledge)))
    for (const proof of proofs) {
      parts.push(...proof.parts)
      knowledge = combine(knowledge, proof.listLimit)
    }
    next += width
    records = parts.reduce((sum, part) => sum + part.items.length, 0)
    job.context.crashPoint('window-listed')
  }
  return { parts, earlier, knowledge, more: next < due.length || due.length >= windowsPerSlice }
}

async function listOne(
  job: SliceJob<WindowedStream>,
  window: DueWindow,
  earlier: readonly EarlierCertificate[],
  knowledge: ListLimit,
) {
  const { context, stream, rooftop, run } = job
  const nights = context.config.sync.deepRelistNights
  const vouching = earlier.find(
    (old) =>
      old.from === window.from &&
      old.until === window.until &&
      old.proof === 'halved' &&
      // The same full answer again may hide what completed since: on its window's turn it is proved anew.
      old.listedAt.getTime() / 1000 >=
        latestRotationStart(dayNumber(window.from), nights, run.sourceStart),
  )
  const options = { signal: context.signal, onAttempt: job.traffic.onAttempt }
  const list = async ({
    from,
    until,
    open,
  }: {
    from: number
    until: number
    open: boolean
  }): Promise<Listing> =>
    await stream.list(sourcesOf(context), rooftop, { from, until: open ? null : until }, options)
  const { recordsPerPart: maxItems } = context.sliceLimits
  const vouched = (items: Listing['items']) =>
    vouching?.idsDigest.equals(idsDigest(items.map((item) => item.evalId))) ?? false
  return await proveWindow(window, { list, listLimit: knowledge, isConfirmed: vouched, maxItems })
}

/** Windows of a wave are proved side by side: the largest answer and the least cap that it leaves standing count. */
function combine(left: ListLimit, right: ListLimit): ListLimit {
  const caps = [left.cap, right.cap].filter((cap) => cap !== null)
  const largest = Math.max(left.largest, right.largest)
  const cap = caps.length > 0 ? Math.min(...caps) : null
  return { largest, cap: cap !== null && largest > cap ? null : cap }
}
