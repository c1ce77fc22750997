import type { Known, WindowedStream } from '../streams/stream.ts'
import { parseUtc } from '../values/instant.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import { type EarlierCertificate, earlierCertificates } from './certificate.ts'
import type { DueScope } from './due.ts'
import type { ProvenPart } from './prove.ts'
import { asideKeys } from './quarantine.ts'
import { isRereadDue, saysUnchanged } from './reread.ts'
import { type SliceJob, sourcesOf } from './slice.ts'

export interface Reading {
  /** Records to read. */
  readonly ids: readonly number[]
  readonly known: ReadonlyMap<number, Known>
  /** Parts whose known records were all looked at; the others keep their earlier mark. */
  readonly lookedAt: ReadonlyMap<ProvenPart, Date>
  /** Stored records of a part that the list no longer shows. */
  readonly unlisted: ReadonlyMap<ProvenPart, readonly number[]>
}

/** Which listed records are new, changed by the list's word, or due to be looked at again. */
export async function chooseRecords(
  job: SliceJob<WindowedStream>,
  scope: DueScope,
  parts: readonly ProvenPart[],
): Promise<Reading> {
  const { context, stream, rooftop, run } = job
  const all = [...new Set(parts.flatMap((part) => part.items.map((item) => item.evalId)))]
  const known = new Map(
    (await stream.known(context.db, rooftop, all)).map((entry) => [entry.id, entry]),
  )
  const aside = await asideKeys(context.db, scope, all.map(String))
  let budget = context.config.sync.rereadBudget - (await rereadSoFar(job))
  const ids = new Set<number>()
  const lookedAt = new Map<ProvenPart, Date>()
  const unlisted = new Map<ProvenPart, readonly number[]>()
  for (const part of parts) {
    const earlier = await earlierCertificates(context.db, scope, part.window)
    const since = earliestLook(part, earlier)
    const again = part.items.filter(({ evalId, updatedAt }) => {
      const entry = known.get(evalId)
      if (!entry || entry.gone || aside.has(String(evalId))) ids.add(evalId)
      else if (entry.rooftopId === rooftop.id)
        return isDue(entry, updatedAt, since, run.sourceStart)
      return false
    })
    const affordable = again.length <= budget
    if (affordable) {
      budget -= again.length
      for (const item of again) ids.add(item.evalId)
    }
    lookedAt.set(part, affordable ? part.listedAt : (since ?? new Date(0)))
    unlisted.set(part, await missingFrom(job, part))
  }
  return { ids: [...ids], known, lookedAt, unlisted }
}

function isDue(entry: Known, updatedAt: string | null, since: Date | null, now: number): boolean {
  const unchanged = saysUnchanged(updatedAt === null ? null : parseUtc(updatedAt), entry.updatedAt)
  return unchanged === null ? isRereadDue(entry, since, now) : !unchanged
}

function earliestLook(part: ProvenPart, earlier: readonly EarlierCertificate[]): Date | null {
  const covered = earlier.filter(
    (old) => old.from < part.window.until && old.until > part.window.from,
  )
  if (covered.length === 0) return null
  return new Date(Math.min(...covered.map((old) => old.rereadAt.getTime())))
}

async function rereadSoFar({
  context,
  run,
  rooftop,
  stream,
}: SliceJob<WindowedStream>): Promise<number> {
  const row = await context.db
    .selectFrom('ops.run_stream')
    .select(['hydrated', 'inserted'])
    .where('run_id', '=', run.runId)
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  return row ? row.hydrated - row.inserted : 0
}

/** Only a certified window may say that a record is no longer listed, and only when a second listing says so too. */
async function missingFrom(
  job: SliceJob<WindowedStream>,
  part: ProvenPart,
): Promise<readonly number[]> {
  const { context, stream, rooftop } = job
  if (part.proof === 'unprovable') return []
  const { from, until, open } = part.window
  const stored = await stream.knownWithin(
    context.db,
    rooftop,
    fromUnixSeconds(from),
    fromUnixSeconds(until),
  )
  const listed = new Set(part.items.map((item) => item.evalId))
  const missing = stored.filter((id) => !listed.has(id))
  if (missing.length === 0) return []
  const again = await stream.list(
    sourcesOf(context),
    rooftop,
    { from, until: open ? null : until },
    { signal: context.signal },
  )
  const shown = new Set(again.items.map((item) => item.evalId))
  return missing.filter((id) => !shown.has(id))
}
