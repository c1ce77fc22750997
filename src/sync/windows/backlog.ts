import type { Context } from '../../context.ts'
import { overlap } from '../../values/window.ts'
import type { Hydrated } from '../records/hydrate.ts'
import type { SliceJob } from '../run/stream.ts'
import type { EarlierCertificate } from './certificate.ts'
import type { DueWindow } from './due-windows.ts'
import type { ProvenPart } from './prove.ts'

/** Windows that a slice has listed and proved, and left for the following slices. */
export interface Backlog {
  readonly units: readonly Unit[]
  /** The certificates that these windows had before they were listed. */
  readonly earlier: readonly EarlierCertificate[]
  /** Results of the records of these parts that are already read, by id. */
  readonly readBefore: ReadonlyMap<number, Hydrated['kind']>
}

/** Parts that are certified together in one transaction, or not at all. */
export type Unit = readonly ProvenPart[]

/** Records in all backlogs of one process, at most: bounds their memory. */
const maxRecords = 400_000
/** A backlog always holds this many records. With fewer, a large window is listed again for each slice: quadratic cost. */
const minRecords = 10_000
/** After this time a backlog is dropped: its run was stopped or taken over. */
const maxAgeMs = 3_600_000

const backlogs = new WeakMap<Context, Map<string, Backlog & { readonly savedAt: number }>>()

/**
 * Takes the backlog of the run for the rooftop. Leaves out what is no longer due and what another run has certified since, because
 * an older list must not replace a newer one. A backlog only saves requests: without one, as after a crash, a process lists again
 * and reads what is not loaded yet.
 */
export function takeBacklog(
  job: SliceJob,
  due: readonly DueWindow[],
  certified: readonly EarlierCertificate[],
): Backlog | null {
  const backlog = backlogs.get(job.context)?.get(jobKey(job))
  backlogs.get(job.context)?.delete(jobKey(job))
  if (backlog === undefined) return null
  const isDue = (part: ProvenPart) => due.some((window) => holds(window, part))
  const isNewest = ({ window, listedAt }: ProvenPart) =>
    !certified.some((other) => overlap(other, window) && other.listedAt > listedAt)
  const units = backlog.units.filter((unit) => unit.every((part) => isDue(part) && isNewest(part)))
  return units.length > 0 ? { ...backlog, units } : null
}

/** Saves a backlog for the next slice; call it after the commit. Units beyond the memory bound are listed again later. */
export function saveBacklog(job: SliceJob, backlog: Backlog): void {
  const saved = backlogs.get(job.context) ?? new Map<string, Backlog & { savedAt: number }>()
  backlogs.set(job.context, saved)
  const now = performance.now()
  for (const [key, { savedAt }] of saved) if (now - savedAt > maxAgeMs) saved.delete(key)
  const others = [...saved.values()].reduce((sum, { units }) => sum + listedIn(units.flat()), 0)
  const room = Math.max(minRecords, maxRecords - others)
  const units = firstUnits(backlog.units, room)
  if (units.length > 0) saved.set(jobKey(job), { ...backlog, units, savedAt: now })
}

/**
 * Groups parts into units. Each part of a gap is its own unit, since a certified part is no longer a gap. A window that is listed
 * again is one unit: its old certificate covers it until all of it can be replaced.
 */
export function groupUnits(parts: readonly ProvenPart[], due: readonly DueWindow[]): Unit[] {
  const units = Map.groupBy(
    parts,
    (part) => due.find((window) => window.reason !== 'gap' && holds(window, part)) ?? part,
  )
  return [...units.values()]
}

/** The units that one slice works on: at least one, and more until together they list the given number of records. */
export function firstUnits(units: readonly Unit[], records: number): Unit[] {
  let sum = 0
  return units.filter((unit) => {
    const fits = sum < records
    sum += listedIn(unit)
    return fits
  })
}

export function listedIn(parts: readonly ProvenPart[]): number {
  return parts.reduce((sum, part) => sum + part.items.length, 0)
}

/** Whether a part lies in a due window. The newest window ends when it is listed, which is later than the end that was due. */
function holds(due: DueWindow, { window }: ProvenPart): boolean {
  return due.from <= window.from && (window.until <= due.until || (due.open && window.open))
}

function jobKey({ run, rooftop, stream }: SliceJob): string {
  return `${run.runId}/${stream.name}/${rooftop.uid}`
}
