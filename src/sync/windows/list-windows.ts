import { dayNumber, latestRotationStart } from '../../values/window.ts'
import { inWindowSpan } from '../run/run-spans.ts'
import { pickSources } from '../run/sources.ts'
import { callOptions, type SliceJob } from '../run/stream.ts'
import { listedIn } from './backlog.ts'
import { type EarlierCertificate, idsDigest } from './certificate.ts'
import type { DueWindow } from './due-windows.ts'
import { type ListLimit, type ProvenPart, proveWindow } from './prove.ts'
import type { RecordList, WindowedRecords } from './windowed-records.ts'

/** Windows that are read from the ledger at once. */
export const windowsPerSlice = 64

/** The listed and proved windows of a slice. */
export interface ListedWindows {
  readonly parts: readonly ProvenPart[]
  /** The certificates that the due windows had before. */
  readonly earlier: readonly EarlierCertificate[]
  readonly listLimit: ListLimit
  readonly more: boolean
}

/** Lists due windows in waves until the slice is full. The records per window so far decide the size of the next wave. */
export async function listWindows(
  job: SliceJob<WindowedRecords>,
  due: readonly DueWindow[],
  earlier: readonly EarlierCertificate[],
  limitBefore: ListLimit,
): Promise<ListedWindows> {
  const parts: ProvenPart[] = []
  const { records: recordsPerSlice } = job.context.sliceLimits
  let listLimit = limitBefore
  let next = 0
  let records = 0
  while (next < due.length && records < recordsPerSlice) {
    const average = next === 0 ? recordsPerSlice / 4 : Math.max(records / next, 1)
    const width = Math.max(
      1,
      Math.min(Math.ceil((recordsPerSlice - records) / average), 16, due.length - next),
    )
    const wave = due.slice(next, next + width)
    const proofs = await Promise.all(wave.map((window) => listOne(job, window, earlier, listLimit)))
    for (const proof of proofs) {
      parts.push(...proof.parts)
      listLimit = combine(listLimit, proof.listLimit)
    }
    next += width
    records = listedIn(parts)
    job.context.crashPoint('window-listed')
  }
  return { parts, earlier, listLimit, more: next < due.length || due.length >= windowsPerSlice }
}

/** Lists and proves one window. A full answer is not proved again if its last certificate has the same ids. */
async function listOne(
  job: SliceJob<WindowedRecords>,
  window: DueWindow,
  earlier: readonly EarlierCertificate[],
  listLimit: ListLimit,
) {
  const { context, stream, rooftop, run } = job
  const nights = context.config.sync.deepRelistNights
  const confirming = earlier.find(
    (old) =>
      old.from === window.from &&
      old.until === window.until &&
      old.proof === 'halved' &&
      // An equal full answer may hide records that completed since, so the window is proved again when the rotation reaches it.
      old.listedAt.getTime() / 1000 >=
        latestRotationStart(dayNumber(window.from), nights, run.sourceStart),
  )
  const options = callOptions(job)
  const list = async ({
    from,
    until,
    open,
  }: {
    from: number
    until: number
    open: boolean
  }): Promise<RecordList> =>
    await stream.list(pickSources(context), rooftop, { from, until: open ? null : until }, options)
  const { recordsPerPart: maxItems } = context.sliceLimits
  const isConfirmed = (items: RecordList['items']) =>
    confirming?.idsDigest.equals(idsDigest(items.map((item) => item.id))) ?? false
  return await inWindowSpan(
    job,
    window,
    async () => await proveWindow(window, { list, listLimit, isConfirmed, maxItems }),
  )
}

/** Combines limits of windows that were proved concurrently: the largest answer, and the smallest cap that it does not disprove. */
function combine(left: ListLimit, right: ListLimit): ListLimit {
  const caps = [left.cap, right.cap].filter((cap) => cap !== null)
  const largest = Math.max(left.largest, right.largest)
  const cap = caps.length > 0 ? Math.min(...caps) : null
  return { largest, cap: cap !== null && largest > cap ? null : cap }
}
