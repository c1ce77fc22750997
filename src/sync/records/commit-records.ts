import { sql } from 'kysely'
import type { JsonPath } from '../../values/json-path.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { refreshSums } from '../../warehouse/db/sums.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import { commitSlice } from '../run/commit-slice.ts'
import type { Counts } from '../run/run-ledger.ts'
import {
  buildCertificates,
  countSlice,
  type FreshRecord,
  type SliceContent,
} from '../run/slice-outcome.ts'
import { type SliceJob, type SliceResult, sourceTimeAt } from '../run/stream.ts'
import type { Certificate } from '../windows/certificate.ts'
import { expectUnlisted } from '../windows/certified-ids.ts'
import type { ProvenPart } from '../windows/prove.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import type { ReadPlan } from './choose-records.ts'
import { recordWarnings } from './data-quality.ts'
import { Drift } from './drift.ts'
import type { Hydrated } from './hydrate.ts'
import { type LoadResult, loadRecords, savePayloads } from './load-records.ts'
import type { Reading } from './named-fields.ts'
import {
  type ComparedContacts,
  compareContacts,
  type ScreenedRecords,
  screenRecords,
} from './privacy-gate.ts'
import {
  listItemKey,
  type QuarantineScope,
  quarantineRecords,
  release,
  releaseListItems,
} from './quarantine.ts'
import { clearVanished, markVanished, reassignRooftop, setEntryTimes } from './stored-records.ts'

const noParts = new Map<ProvenPart, never>()
/** The part of a slice's content that only listed windows have. */
export const withoutWindows = {
  ...{ parts: [], rereadAt: noParts, unlisted: noParts },
  ...{ changed: new Set<number>(), moved: new Map<number, Date>(), loadedByOther: [] },
} as const satisfies Partial<SliceContent>

/**
 * Commits the records that a slice has read. `complete` writes in the same transaction what is special about the slice, and says
 * what is left to do. A record that Postgres refuses is quarantined.
 */
export async function commitRecords(
  job: SliceJob<WindowedRecords>,
  content: SliceContent,
  complete: (
    tx: Tx,
    written: Written,
    records: readonly Hydrated[],
  ) => Promise<Omit<SliceResult, 'counts'>>,
): Promise<SliceResult> {
  let drift: Drift | null = null
  let fresh: readonly FreshRecord[] = []
  const compared = await compareContacts(job, content.records)
  const result = await commitSlice<Hydrated>(job, {
    items: content.records,
    store: async (tx, records) => await writeSlice(tx, job, { ...content, records }, compared),
    reject: (entry, issues) => {
      const text = entry.kind === 'record' ? entry.payload.text : ''
      return { kind: 'rejected', id: entry.id, issues, text }
    },
    write: async (tx, records) => {
      const written = await writeSlice(tx, job, { ...content, records }, compared)
      drift = written.drift
      fresh = records.filter((entry) => entry.kind === 'record')
      return { counts: written.counts, ...(await complete(tx, written, records)) }
    },
  })
  await reportDrift(job, drift, fresh)
  return result
}

/** Writes the drift report. A failure is logged only, since the slice is committed already. */
async function reportDrift(
  job: SliceJob<WindowedRecords>,
  drift: Drift | null,
  fresh: readonly FreshRecord[],
): Promise<void> {
  const { context, stream } = job
  try {
    await drift?.write(context.db, stream.name)
    if (fresh.length > 0) await recordMovedFields(job, fresh)
  } catch (error) {
    context.log.warn({ err: error }, 'drift report not written')
  }
}

/** What a slice wrote. */
interface Written {
  readonly counts: Counts
  readonly certificates: Certificate[]
  /** Of each record that was read and differed from the stored one. */
  readonly outcomes: readonly LoadResult[]
  /** Of the records that were loaded. */
  readonly drift: Drift
}

/** Writes rows, payloads, quarantine and marks of a slice, without the customers that were erased. */
async function writeSlice(
  tx: Tx,
  job: SliceJob<WindowedRecords>,
  read: SliceContent,
  compared: ComparedContacts,
): Promise<Written> {
  // A slice that writes no record need not wait for an erasure.
  const screened = isIdle(read)
    ? { records: read.records, erasedAt: () => null }
    : await screenRecords(tx, job, read.records, compared)
  return await writeScreened(tx, job, { ...read, records: screened.records }, screened.erasedAt)
}

/** Whether the slice only certifies its windows again: nothing was received, and nothing is marked or moved. */
function isIdle({ records, parts, unlisted, moved, loadedByOther }: SliceContent): boolean {
  return (
    records.length + moved.size + loadedByOther.length === 0 &&
    parts.every(({ malformed }) => malformed.length === 0) &&
    [...unlisted.values()].every((ids) => ids.length === 0)
  )
}

/** Writes a slice whose records have passed the privacy gate. */
async function writeScreened(
  tx: Tx,
  job: SliceJob<WindowedRecords>,
  content: SliceContent,
  erasedAt: ScreenedRecords['erasedAt'],
): Promise<Written> {
  const { stream, rooftop, run } = job
  const fresh = content.records.filter((entry) => entry.kind === 'record')
  const rejected = content.records.filter((entry) => entry.kind === 'rejected')
  const vanished = content.records.filter((entry) => entry.kind === 'vanished').map(({ id }) => id)
  const windowOf = windowsById([...content.parts, ...(content.incomplete ?? [])])
  const outcomes: LoadResult[] = []
  const loading = { known: content.known, windowOf, erasedAt }
  for (const [owner, owned] of Map.groupBy(fresh, (entry) => entry.owner))
    outcomes.push(...(await loadOwned(tx, job, owner, owned, loading)))
  const quarantine = { stream: stream.name, rooftopId: rooftop.id, runId: run.runId }
  await quarantineRecords(
    tx,
    quarantine,
    rejected.map(({ id, issues, text }) => ({
      naturalKey: String(id),
      issues,
      payload: text,
      window: windowOf(id),
    })),
  )
  const read = content.records.filter((entry) => entry.kind !== 'rejected').map(({ id }) => id)
  await release(tx, quarantine, [...read, ...content.loadedByOther].map(String))
  const unlisted = content.parts.flatMap((part) => content.unlisted.get(part) ?? [])
  await markVanished(tx, stream, rooftop, run.runId, [
    { reason: 'not found', ids: vanished, at: fromUnixSeconds(run.sourceStart) },
    { reason: 'not listed', ids: unlisted, at: fromUnixSeconds(run.sourceStart) },
  ])
  await setEntryTimes(tx.db, stream, rooftop, content.moved)
  await expectUncertified(tx, job, content, fresh)
  await quarantineItems(tx, quarantine, content.parts)
  const written = [...fresh.map(({ id }) => id), ...vanished, ...unlisted]
  if (stream.isSummed) await refreshSums(tx.db, [rooftop.groupId], written)
  const counts = countSlice(job, content, outcomes, unlisted.length)
  const drift = new Drift(stream.documented)
  for (const { drift: record } of fresh) drift.add(record)
  return { counts, certificates: buildCertificates(job, content, fresh, outcomes), outcomes, drift }
}

/** Quarantines list items that name no record, and closes those that a window no longer shows. */
async function quarantineItems(
  tx: Tx,
  scope: QuarantineScope,
  parts: readonly ProvenPart[],
): Promise<void> {
  const items = parts.flatMap(({ malformed, window }) =>
    malformed.map(({ issue, text }) => ({
      naturalKey: listItemKey(text),
      issues: [{ path: '$', message: issue }],
      payload: text,
      window,
    })),
  )
  const windows = parts.map(({ window }) => window)
  await releaseListItems(
    tx,
    scope,
    windows,
    items.map(({ naturalKey }) => naturalKey),
  )
  await quarantineRecords(tx, scope, items)
}

interface Loading extends Pick<ReadPlan, 'known'> {
  readonly windowOf: ReturnType<typeof windowsById>
  readonly erasedAt: ScreenedRecords['erasedAt']
}

/** Writes rows, payloads and warnings of the records of one rooftop. */
async function loadOwned(
  tx: Tx,
  { context, stream, run }: SliceJob<WindowedRecords>,
  owner: RooftopRow,
  owned: readonly FreshRecord[],
  { known, windowOf, erasedAt }: Loading,
): Promise<LoadResult[]> {
  const ids = owned.map(({ id }) => id)
  const entries = ids.map((id) => known.get(id))
  await reassignRooftop(tx, stream, owner, entries)
  const incoming = owned.map(({ id, record, payload }) => ({
    id,
    record,
    origin: {
      fetchedAt: payload.fetchedAt,
      runId: run.runId,
      readAt: sourceTimeAt(run, payload.fetchedAt),
      listedIn: windowOf(id),
      erasedAt: erasedAt(id),
    },
  }))
  const outcomes = await loadRecords(tx, stream, owner, incoming, context.config.wire.appraisal)
  const stale = new Set(outcomes.filter(({ outcome }) => outcome === 'stale').map(({ id }) => id))
  const payloads = owned
    .filter(({ id, payload }) => !stale.has(id) && !payload.isStored)
    .map(({ id, payload }) => ({ naturalKey: String(id), ...payload }))
  await savePayloads(tx, stream.endpoint, owner, run.runId, payloads)
  const warnings = owned.flatMap(({ id, record }) =>
    stream.warnings(record).map((warning) => ({ naturalKey: String(id), ...warning })),
  )
  await recordWarnings(
    tx,
    { stream: stream.name, runId: run.runId },
    owner,
    ids.map(String),
    warnings,
  )
  await clearVanished(tx, stream, owner, ids)
  return outcomes
}

function windowsById(parts: readonly ProvenPart[]) {
  const byId = new Map(
    parts.flatMap((part) => part.items.map((item) => [item.id, part.window] as const)),
  )
  return (id: number) => byId.get(id) ?? null
}

/** Records the rows that no certificate of this slice lists: new, gone before, from another rooftop, or moved. */
async function expectUncertified(
  tx: Tx,
  { stream, rooftop }: SliceJob<WindowedRecords>,
  { known, parts, moved }: SliceContent,
  fresh: readonly FreshRecord[],
): Promise<void> {
  const windowOf = windowsById(parts)
  const arrived = fresh
    .filter(({ id, owner }) => {
      const before = known.get(id)
      return before === undefined || before.gone || before.rooftopId !== owner.id
    })
    .map(({ id, owner }) => ({ id, ownerId: owner.id }))
  const all = [...arrived, ...[...moved.keys()].map((id) => ({ id, ownerId: rooftop.id }))]
  const unlisted = all.filter(({ id }) => windowOf(id) === null)
  for (const [ownerId, records] of Map.groupBy(unlisted, (record) => record.ownerId))
    await expectUnlisted(
      tx,
      stream,
      ownerId,
      records.map(({ id }) => id),
    )
}

/** What is read to find out: the newest records of a rooftop, some that the slice has read again, and of each its newest payloads. */
const most = { newest: 120, ofSlice: 100, payloads: 3, bytes: 100_000 }

/**
 * Stores which settings the records of a slice have no field for any more, and forgets those that they have again. A slice whose records
 * have all fields reads no payload, nor does one of webhooks: its records are among the newest of the next night.
 */
async function recordMovedFields(
  { context, stream, run }: SliceJob<WindowedRecords>,
  fresh: readonly FreshRecord[],
): Promise<void> {
  const { names } = stream
  if (names === undefined) return
  const { db, config } = context
  const wire = config.wire.appraisal
  const settings = names.settings(wire)
  for (const [{ id: rooftopId }, records] of Map.groupBy(fresh, ({ owner }) => owner)) {
    const isFilled = ([, path]: [string, JsonPath]) =>
      records.some(({ drift }) => names.isFilled(drift, path))
    const filled = Object.entries(settings).filter(isFilled)
    await sql`delete from ops.moved_field where rooftop_id = ${rooftopId} and stream = ${stream.name}
      and (setting = any(${filled.map(([setting]) => setting)}::text[]) or configured is distinct from ${JSON.stringify(settings)}::jsonb -> setting)`.execute(
      db,
    )
    const { rows } = await sql<{ setting: string }>`select setting from ops.moved_field
      where rooftop_id = ${rooftopId} and stream = ${stream.name} and cardinality(paths) > 0`.execute(
      db,
    )
    const known = new Set(rows.map(({ setting }) => setting))
    const open = Object.entries(settings).filter((one) => !isFilled(one) && !known.has(one[0]))
    const paths = open.flatMap(([, path]) => path)
    if (run.lane === 'event' || !(await wereSeen(db, stream.name, paths))) continue
    const ids = new Set([
      ...(await names.readNewest(db, rooftopId, most.newest)),
      ...records.slice(-most.ofSlice).map(({ id }) => id),
    ])
    const readings = await readReadings(db, stream, rooftopId, [...ids])
    for (const moved of await names.findMoved(readings, Object.fromEntries(open), wire))
      await sql`
        insert into ops.moved_field (rooftop_id, stream, setting, configured, paths, evidence, records, run_id)
        values (${rooftopId}, ${stream.name}, ${moved.setting}, ${JSON.stringify(settings[moved.setting])}::jsonb,
          ${moved.paths}::text[], ${moved.evidence}, ${moved.records}::bigint[], ${run.runId})
        on conflict (rooftop_id, stream, setting)
        do update set paths = excluded.paths, evidence = excluded.evidence, records = excluded.records, run_id = excluded.run_id`.execute(
        db,
      )
  }
}

/** Whether records of the stream ever had a value at one of these paths. */
async function wereSeen(db: Db, stream: string, paths: readonly string[]): Promise<boolean> {
  if (paths.length === 0) return false
  const known = paths.map((path) => path.replaceAll(/\.0(?=\.|$)/g, '[]'))
  const { rows } = await sql`select from ops.field_drift
    where stream = ${stream} and json_path = any(${known}::text[]) and json_type <> 'null' limit 1`.execute(
    db,
  )
  return rows.length > 0
}

/** Reads the payloads of records, the oldest first. */
async function readReadings(
  db: Db,
  stream: WindowedRecords,
  rooftopId: number,
  ids: readonly number[],
): Promise<Reading[]> {
  const { rows } = await sql<{ key: string; text: string }>`
    select key, body::text as text from unnest(${ids.map(String)}::text[]) as chosen (key) cross join lateral (
      select body, fetched_at from raw.payload
      where rooftop_id = ${rooftopId} and endpoint = ${stream.endpoint} and natural_key = key
      order by fetched_at desc limit ${most.payloads}
    ) as payload
    where octet_length(body::text) < ${most.bytes} order by fetched_at`.execute(db)
  return rows.map(({ key, text }) => ({
    id: Number(key),
    record: stream.findRecord(JSON.parse(text), Number(key)),
  }))
}
