import { sql } from 'kysely'
import { commitRecords, withoutWindows } from '../../sync/records/commit-records.ts'
import type { Hydrated } from '../../sync/records/hydrate.ts'
import { readQuarantinedRecords } from '../../sync/records/quarantine.ts'
import { isOwnedByOther, storedRecords } from '../../sync/records/stored-records.ts'
import type { SliceJob, SliceResult } from '../../sync/run/stream.ts'
import type { StoredRecord, WindowedRecords } from '../../sync/windows/windowed-records.ts'
import { readRecords } from '../../sync/windows/windowed-slice.ts'
import { partition } from '../../values/partition.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'

const deliveriesPerSlice = 500
/** Reads for one event, over about two minutes: the service may send an event before its reads show it. */
const maxReads = 6

/** A webhook delivery that waits: its evaluation must be read again. */
interface Waiting {
  readonly id: number
  readonly evalId: number
  readonly updatedAt: Date | null
  /** Reads that did not show the event yet. */
  readonly notShown: number
}

/**
 * One slice of evaluations that webhooks reported. They are read again and loaded by the same code as in a nightly slice, and
 * their deliveries are marked in the same transaction. It certifies no window: a webhook proves nothing about other evaluations.
 */
export async function readHinted(job: SliceJob<WindowedRecords>): Promise<SliceResult> {
  const { context, stream, rooftop } = job
  const due = await waitingDeliveries(job)
  const ids = [...new Set(due.map(({ evalId }) => evalId))]
  const known = new Map(
    (await storedRecords(context.db, stream, rooftop, ids)).map((one) => [one.id, one]),
  )
  const entries = await readQuarantinedRecords(context.db, {
    rooftopId: rooftop.id,
    stream: stream.name,
  })
  const quarantined = new Set(entries.map(({ id }) => id))
  // The payload decides the rooftop: the evaluation may have moved since the delivery.
  const anyRooftop = { ...job, rooftop: { ...rooftop, dealerId: null } }
  const chosen = { ...withoutWindows, ids, known, quarantined }
  const read = await readRecords(anyRooftop, chosen)
  const isRead = new Set(read.map(({ id }) => id))
  const waiting = due.filter(({ evalId }) => isRead.has(evalId))
  const records = read
    .filter((entry) => !isUnanswered(entry, job, known))
    .map(withOwner(job, known))
  const owners = findOwners(read, job, known)
  const more = due.length >= deliveriesPerSlice || waiting.length < due.length
  return await commitRecords(job, { ...chosen, records }, async (tx, { outcomes }, final) => {
    const finalKinds = new Map(final.map(({ id, kind }) => [id, kind]))
    const answered = read.filter((entry) => !isUnread(entry))
    const results = new Map<number, string>(
      answered.map(({ id, kind }) => [id, outcomeOf[finalKinds.get(id) ?? kind]]),
    )
    for (const { id, outcome } of outcomes)
      results.set(id, outcome === 'stale' ? 'unchanged' : outcome)
    const ours = await moveToOwners(tx, waiting, owners)
    await markDeliveries(tx, job, ours, { results, written: new Set(final.map(({ id }) => id)) })
    return { more, ...missing(read) }
  })
}

const outcomeOf = {
  unchanged: 'unchanged',
  vanished: 'vanished',
  record: 'updated',
  rejected: 'quarantined',
} as const satisfies Record<Hydrated['kind'], string>

/** Deliveries of the rooftop that are due, the oldest first. */
async function waitingDeliveries({ context, rooftop }: SliceJob): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    select delivery_id as id, eval_id as "evalId", source_updated_at as "updatedAt", not_shown as "notShown"
    from ops.webhook_delivery where rooftop_id = ${rooftop.id} and state = 'waiting' and due_at <= now()
      and ${isForSource(context.queue.sourceId)}
    order by due_at, delivery_id limit ${deliveriesPerSlice}`.execute(context.db)
  return rows
}

/** Whether the read brought nothing to write: no answer came, or neither the service nor the warehouse knows the evaluation. */
function isUnanswered(
  entry: Hydrated,
  { rooftop }: SliceJob,
  known: ReadonlyMap<number, StoredRecord>,
): boolean {
  const before = known.get(entry.id)
  if (entry.kind === 'vanished') return before === undefined || isOwnedByOther(before, rooftop)
  return isUnread(entry)
}

/** Whether no answer came, so that there is nothing to quarantine either. */
function isUnread(entry: Hydrated): entry is Hydrated & { kind: 'rejected' } {
  return entry.kind === 'rejected' && entry.text === ''
}

/** Why the run is incomplete, if it is. */
function missing(read: readonly Hydrated[]): { readonly error?: string } {
  const unread = read.filter(isUnread)
  const reason = unread[0]?.issues[0]?.message
  if (reason === undefined) return {}
  return {
    error: `${unread.length} evaluation(s) could not be read and will be read again: ${reason}`,
  }
}

/** An evaluation whose payload names no dealership stays with the rooftop that owns it. */
function withOwner(
  { rooftop, siblings, stream, context }: SliceJob<WindowedRecords>,
  known: ReadonlyMap<number, StoredRecord>,
) {
  return (entry: Hydrated): Hydrated => {
    const before = known.get(entry.id)
    if (entry.kind !== 'record' || !isOwnedByOther(before, rooftop)) return entry
    const { appraisal: wire } = context.config.wire
    const dealer = stream.readDealer(JSON.parse(entry.payload.text), entry.id, wire)
    const owner = siblings.find(({ id }) => id === before!.rooftopId)
    return dealer === null && owner !== undefined ? { ...entry, owner } : entry
  }
}

/** For each evaluation that this rooftop's key did not find: the other rooftop of the group that owns it. Only the owner's key can
 *  show whether it is gone. */
function findOwners(
  read: readonly Hydrated[],
  { rooftop, siblings }: SliceJob,
  known: ReadonlyMap<number, StoredRecord>,
): ReadonlyMap<number, number> {
  const isOfConfig = (rooftopId: number) => siblings.some(({ id }) => id === rooftopId)
  return new Map(
    read.flatMap(({ kind, id }) => {
      const owned = known.get(id)
      if (kind !== 'vanished' || !isOwnedByOther(owned, rooftop)) return []
      return isOfConfig(owned!.rooftopId) ? [[id, owned!.rooftopId] as const] : []
    }),
  )
}

/** Moves deliveries to the rooftops that own their evaluations, whose next slice reads them. Returns the others. */
async function moveToOwners(
  tx: Tx,
  waiting: readonly Waiting[],
  owners: ReadonlyMap<number, number>,
): Promise<readonly Waiting[]> {
  const [theirs, ours] = partition(waiting, ({ evalId }) => owners.has(evalId))
  if (theirs.length === 0) return ours
  await sql`
    update ops.webhook_delivery set rooftop_id = owner.rooftop_id, attempts = 0, not_shown = 0, due_at = now()
    from unnest(${theirs.map(({ id }) => id)}::bigint[], ${theirs.map(({ evalId }) => owners.get(evalId)!)}::int[])
      as owner (delivery_id, rooftop_id)
    where webhook_delivery.delivery_id = owner.delivery_id and state = 'waiting'`.execute(tx.db)
  return ours
}

/** Marks the deliveries. A delivery whose event the service's reads do not show yet waits for the next attempt. */
async function markDeliveries(
  tx: Tx,
  { stream, rooftop, run }: SliceJob<WindowedRecords>,
  waiting: readonly Waiting[],
  read: { readonly results: ReadonlyMap<number, string>; readonly written: ReadonlySet<number> },
): Promise<void> {
  const written = [...read.written]
  const stored = new Map(
    (await storedRecords(tx.db, stream, rooftop, written)).map((one) => [one.id, one]),
  )
  const isSeen = ({ evalId, updatedAt }: Waiting) => {
    if (!read.written.has(evalId)) return false
    const now = stored.get(evalId)
    return updatedAt === null || now === undefined || now.gone || now.updatedAt >= updatedAt
  }
  const [answered, unread] = partition(waiting, ({ evalId }) => read.results.has(evalId))
  const [done, later] = partition(answered, (one) => isSeen(one) || one.notShown >= maxReads)
  await sql`
    update ops.webhook_delivery set state = 'processed', outcome = result.outcome, run_id = ${run.runId}, issue = null,
      processed_at = clock_timestamp()
    from unnest(${done.map(({ id }) => id)}::bigint[], ${done.map((one) => read.results.get(one.evalId)!)}::text[])
      as result (id, outcome)
    where delivery_id = result.id and state = 'waiting'`.execute(tx.db)
  await sql`
    update ops.webhook_delivery
    set not_shown = not_shown + 1, attempts = 0, issue = 'the service does not show the event yet',
      due_at = now() + interval '2 s' * power(2, not_shown)
    where delivery_id = any(${later.map(({ id }) => id)}::bigint[])
      and state = 'waiting'`.execute(tx.db)
  const ids = unread.map(({ id }) => id)
  await postponeDeliveries(tx.db, ids, 'the evaluation could not be read')
}

/** Whether a process of the source reads a delivery: one that arrived there, or that no process of the other source
 *  has read for an hour, such as after a new base URL. */
export function isForSource(sourceId: number) {
  return sql`(coalesce(source_id = ${sourceId}, true) or due_at < now() - interval '1 hour')`
}

/** Failures in a row until a delivery is marked as failed: about six hours. A nightly run loads its evaluation anyway. */
const maxAttempts = 30

/** Counts a failed attempt for waiting deliveries that were due at a moment (left out: now), and delays them. After the last
 *  attempt they are marked as failed. Deliveries that were postponed since that moment are not changed. */
export async function postponeDeliveries(
  db: Db,
  ids: readonly number[],
  reason: string,
  asOf: string | null = null,
): Promise<void> {
  await sql`
    update ops.webhook_delivery set attempts = attempts + 1, issue = left(${reason}, 400),
      state = case when attempts + 1 >= ${maxAttempts} then 'failed' else state end,
      due_at = now() + least(interval '15 minutes', interval '5 s' * power(2, least(attempts, 10)))
    where delivery_id = any(${ids}::bigint[])
      and state = 'waiting' and due_at <= coalesce(${asOf}::timestamptz, now())`.execute(db)
}
