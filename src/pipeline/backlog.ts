import type { Context } from '../context.ts'
import { overlap } from '../values/window.ts'
import type { EarlierCertificate } from './certificate.ts'
import type { DueWindow } from './due-windows.ts'
import type { Hydrated } from './hydrate.ts'
import type { ProvenPart } from './prove.ts'
import type { SliceJob } from './slice.ts'

/** What a slice has listed and proved, and left to the slices after it. */
export interface Backlog {
  readonly units: readonly Unit[]
  /** What was known of the windows before they were listed. */
  readonly earlier: readonly EarlierCertificate[]
  /** Results of the records of these parts that were read already, by id. */
  readonly readBefore: ReadonlyMap<number, Hydrated['kind']>
}

/** Parts that are certified in one transaction, because they are certified together or not at all. */
export type Unit = readonly ProvenPart[]

/** Records in the backlogs of one process: bounds their memory. */
const recordsAtMost = 400_000
/** A backlog is never cut to less: listing a large window again for every slice would cost its square. */
const recordsAtLeast = 10_000
/** The backlog of a run that was stopped or taken over is dropped after this time. */
const keptMs = 3_600_000

const backlogs = new WeakMap<Context, Map<string, Backlog & { readonly keptAt: number }>>()

/**
 * Takes the backlog of the run at the rooftop, without what is no longer due, and what another run has listed and certified since:
 * an older list must not replace a newer one. It only saves lists: a process that has none, as after a crash, lists again and
 * reads what is not loaded yet.
 */
export function takeBacklog(
  job: SliceJob,
  due: readonly DueWindow[],
  certified: readonly EarlierCertificate[],
): Backlog | null {
  const backlog = backlogs.get(job.context)?.get(keyOf(job))
  backlogs.get(job.context)?.delete(keyOf(job))
  if (backlog === undefined) return null
  const isDue = (part: ProvenPart) => due.some((window) => holds(window, part))
  const isNewest = ({ window, listedAt }: ProvenPart) =>
    !certified.some((other) => overlap(other, window) && other.listedAt > listedAt)
  const units = backlog.units.filter((unit) => unit.every((part) => isDue(part) && isNewest(part)))
  return units.length > 0 ? { ...backlog, units } : null
}

/** Keeps a backlog for the next slice; call it after the commit. Units beyond the bound are listed again when it is done. */
export function saveBacklog(job: SliceJob, backlog: Backlog): void {
  const own = backlogs.get(job.context) ?? new Map<string, Backlog & { keptAt: number }>()
  backlogs.set(job.context, own)
  const now = performance.now()
  for (const [key, { keptAt }] of own) if (now - keptAt > keptMs) own.delete(key)
  const others = [...own.values()].reduce((sum, { units }) => sum + listedIn(units.flat()), 0)
  const room = Math.max(recordsAtLeast, recordsAtMost - others)
  const units = firstUnits(backlog.units, room)
  if (units.length > 0) own.set(keyOf(job), { ...backlog, units, keptAt: now })
}

/**
 * Groups parts into units. Of a gap each part is one: what was certified is no gap any more. A window that is listed again stays
 * covered by its old certificate until all of it can be replaced.
 */
export function unitsOf(parts: readonly ProvenPart[], due: readonly DueWindow[]): Unit[] {
  const units = Map.groupBy(
    parts,
    (part) => due.find((window) => window.reason !== 'gap' && holds(window, part)) ?? part,
  )
  return [...units.values()]
}

/** The units that one slice works on: at least one, and so many that they list the given number of records. */
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

/** The newest window ends at its listing, which is after the end that was asked for. */
function holds(due: DueWindow, { window }: ProvenPart): boolean {
  return due.from <= window.from && (window.until <= due.until || (due.open && window.open))
}

function keyOf({ run, rooftop, stream }: SliceJob): string {
  return `${run.runId}/${stream.name}/${rooftop.uid}`
}
