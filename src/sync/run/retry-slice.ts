import { sql } from 'kysely'
import { bodyHash } from '../../values/content-hash.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import { valueAt } from '../../values/json-path.ts'
import { commitRecords, withoutWindows } from '../records/commit-records.ts'
import { type Hydrated, receive } from '../records/hydrate.ts'
import { isOwnedByOther, storedRecords } from '../records/stored-records.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { readRecords } from '../windows/windowed-slice.ts'
import type { SliceJob, SliceResult } from './stream.ts'

const recordsPerSlice = 500

/**
 * One slice of a retry: quarantined records that this run has not tried yet are read again, and loaded by the same code as in a
 * nightly slice. A record that still does not fit counts another attempt. One whose payload fits as it is stored is loaded without a call.
 */
export async function retryRecords(job: SliceJob<WindowedRecords>): Promise<SliceResult> {
  const { context, stream } = job
  const open = (await untriedKeys(job)).map(Number).filter(Number.isSafeInteger)
  const known = new Map(
    (await storedRecords(context.db, stream, job.rooftop, open)).map((entry) => [entry.id, entry]),
  )
  const loadedByOther = open.filter((id) => isOwnedByOther(known.get(id), job.rooftop))
  const ids = open.filter((id) => !loadedByOther.includes(id))
  const chosen = { ...withoutWindows, ids, known, loadedByOther, quarantined: new Set(ids) }
  const fitting = await readFitting(job, ids)
  const isRead = new Set(fitting.map(({ id }) => id))
  const unread = ids.filter((id) => !isRead.has(id))
  const records = [...fitting, ...(await readRecords(job, { ...chosen, ids: unread }))]
  const more = open.length >= recordsPerSlice || records.length < ids.length
  return await commitRecords(job, { ...chosen, records }, async () => ({ more }))
}

/** Records whose payload in quarantine fits today, because a wire setting or this program was corrected. Only what was refused for values
 *  at paths of the payload counts: what Postgres refuses would fit again and be refused again. Where there is an older payload, the
 *  source is asked: the one in quarantine may be older still. So it is where something was erased: the mark hides whose contact it was. */
async function readFitting(
  job: SliceJob<WindowedRecords>,
  ids: readonly number[],
): Promise<Hydrated[]> {
  const { context, rooftop, stream } = job
  const { rows } = await sql<{ id: string; text: string; seenAt: Date; paths: string[] }>`
    select natural_key as id, payload as text, last_seen_at as "seenAt", paths
    from (
      select *, sum(length(payload)) over (order by quarantine_id) as characters,
        array(select issue->>'path' from jsonb_array_elements(issues) as issue) as paths
      from ops.quarantine as entry
      where rooftop_id = ${rooftop.id} and stream = ${stream.name} and resolved_at is null
        and natural_key = any(${ids.map(String)}::text[]) and strpos(payload, '[erased') = 0
        and not exists (
          select from raw.payload as older
          where older.rooftop_id = entry.rooftop_id and older.endpoint = ${stream.endpoint} and older.natural_key = entry.natural_key)
    ) as open where characters <= ${context.sliceLimits.bodies}`.execute(context.db)
  const giveWay = eventLoopYielder()
  const fitting: Hydrated[] = []
  for (const { id, text, seenAt, paths } of rows) {
    await giveWay()
    const payload = { text, hash: bodyHash(text), fetchedAt: seenAt, isStored: false }
    const read = receive(job, Number(id), payload)
    const wasUnfit = (path: string) =>
      read.kind === 'record' && path !== '' && valueAt(read.drift, path) !== undefined
    if (paths.length > 0 && paths.every(wasUnfit)) fitting.push(read)
  }
  return fitting
}

/** Natural keys of quarantined records of the stream and rooftop that this run has not tried yet. */
export async function untriedKeys({ context, run, stream, rooftop }: SliceJob): Promise<string[]> {
  const chosen = run.only ?? []
  const rows = await context.db
    .selectFrom('ops.quarantine')
    .select('natural_key')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('resolved_at', 'is', null)
    .where('run_id', '<>', run.runId)
    .$if(chosen.length > 0, (query) => query.where('quarantine_id', 'in', [...chosen]))
    .orderBy('quarantine_id')
    .limit(recordsPerSlice)
    .execute()
  return rows.map((row) => row.natural_key)
}
