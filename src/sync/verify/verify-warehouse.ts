import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { plural } from '../../values/text.ts'
import { type Db, inTransaction, inTwoSessions } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { Stream } from '../run/stream.ts'
import {
  type Duplicate,
  duplicateIds,
  repairableSpans,
  saveUncertified,
  uncover,
  type Verification,
  verifyStreams,
} from './verify.ts'
import {
  findWrongAggregates,
  sumDifferences,
  vehicleDifferences,
  type WrongAggregate,
} from './verify-aggregates.ts'
import { dueDifferences, recordDifferences } from './verify-records.ts'
import {
  type Comparison,
  type Difference,
  firstOfGroups,
  saveFound,
  saveFullRound,
} from './verify-round.ts'
import { windowDifferences } from './verify-windows.ts'

/** What is found by comparing certificates, stored rows and sums, without a call and without payloads. */
export interface WarehouseVerification {
  /** By stream, then by rooftop. */
  readonly checked: readonly Verification[]
  readonly duplicates: readonly Duplicate[]
  readonly aggregates: readonly WrongAggregate[]
  /** When it began to compare all stored records with the lists; null: it did not, the rounds do. */
  readonly comparedSince: Date | null
}

/** Verifies one snapshot of the warehouse, also during a sync, in two sessions. */
export async function verifyWarehouse(
  { pool }: Pick<Warehouse, 'pool'>,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  sync: Config['sync'],
): Promise<WarehouseVerification> {
  const comparedSince = new Date()
  const aggregates: WrongAggregate[][] = []
  const checked: Verification[][] = []
  let duplicates: Duplicate[] = []
  // What takes longest begins first.
  const parts: ((db: Db) => Promise<void>)[] = [
    ...findWrongAggregates.map((find, at) => async (db: Db) => {
      aggregates[at] = await find(db, rooftops)
    }),
    ...streams
      .flatMap(({ records }) => records ?? [])
      .map((records, at) => async (db: Db) => {
        checked[at] = await verifyStreams(db, records, rooftops, sync, comparedSince)
      }),
    async (db) => {
      duplicates = await duplicateIds(db)
    },
  ]
  await inTransaction(
    pool,
    async (tx) =>
      await inTwoSessions({ ...tx, pool }, parts, async ({ db }, part) => await part(db)),
    'repeatable read, read only',
  )
  return { checked: checked.flat(), duplicates, aggregates: aggregates.flat(), comparedSince }
}

/** The same, each rooftop in statements of its own, without what is compared in rounds: it reads no stored records. */
export async function verifyBounds(
  { db }: Pick<Warehouse, 'db'>,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  sync: Config['sync'],
): Promise<WarehouseVerification> {
  const checked: Verification[] = []
  for (const records of streams.flatMap((stream) => stream.records ?? []))
    for (const rooftop of rooftops)
      checked.push(...(await verifyStreams(db, records, [rooftop], sync, new Date(), 'bounds')))
  return { checked, duplicates: [], aggregates: [], comparedSince: null }
}

/** Takes what listing and reading again repairs out of the coverage, and stores what has no certificate, so that the next sync does so. */
export async function uncoverFaults(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  { checked }: WarehouseVerification,
): Promise<void> {
  for (const found of checked) {
    const records = streams.find(({ name }) => name === found.stream)!.records!
    const rooftop = rooftops.find(({ uid }) => uid === found.rooftop)!
    await uncover(db, records, rooftop, repairableSpans(found))
    await saveUncertified(db, records, rooftop, found.uncertified)
  }
}

/** Stores when each stream of the rooftops was verified, and what was found, with the values that differ since the last comparison.
 *  For those who cannot wait for a verification.
 *  Answers with what was found, a text for each stream of a rooftop. */
export async function recordVerification(
  db: Db,
  rooftops: readonly RooftopRow[],
  found: WarehouseVerification,
): Promise<string[]> {
  // A rooftop that no run has registered has no row to refer to.
  const known = rooftops.filter(({ id }) => id !== 0)
  if (found.comparedSince !== null) await saveWhole(db, known, found, found.comparedSince)
  const { rows: differences } = await sql<Differing>`
    select rooftop_id as id, stream, count(*) filter (where kind = 'values')::int as values, count(*) filter (where kind = 'ids')::int as ids,
      count(*) filter (where kind = 'counts')::int as counts, count(*) filter (where kind in ('sums', 'vehicles'))::int as sums,
      count(*) filter (where kind = 'orphans')::int as orphans, count(*) filter (where kind = 'duplicates')::int as duplicates,
      count(*) filter (where kind = 'due')::int as due
    from (
      select own.rooftop_id, stream, kind from ops.value_difference join core.rooftop as at using (rooftop_id)
      -- A vehicle is of all rooftops of the group.
      join core.rooftop as own on own.rooftop_id = at.rooftop_id or (kind = 'vehicles' and own.group_id = at.group_id)
    ) as difference
    -- Streams without windows have a row once something differed.
    full join (select rooftop_id, stream from ops.verification) as verified using (rooftop_id, stream)
    where rooftop_id = any(${known.map(({ id }) => id)}::int[]) group by 1, 2`.execute(db)
  const rows = known.flatMap(({ id, uid }) => {
    const differing = differences.filter((row) => row.id === id)
    const checked = found.checked.filter(({ rooftop }) => rooftop === uid)
    const streams = [...checked, ...differing].map(({ stream }) => stream)
    return [...new Set(streams)].map((stream) => {
      const one = checked.find((verified) => verified.stream === stream)
      const stored = differing.find((row) => row.stream === stream) ?? noDifferences
      const parts = listFaults(one ?? null, stored)
      const fault = parts.length === 0 ? null : `${parts.join('; ')} (see "forecourt verify")`
      return { rooftop_id: id, stream, fault, name: `${stream} of ${uid}` }
    })
  })
  await sql`
    insert into ops.verification as last (rooftop_id, stream, verified_at, fault, fault_since, late_completions)
    select rooftop_id, stream, now(), fault, case when fault is not null then now() end, core.late_completions(rooftop_id, covered)
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as found (rooftop_id int, stream text, fault text)
    left join core.stream_status using (rooftop_id, stream)
    on conflict (rooftop_id, stream) do update set verified_at = excluded.verified_at, fault = excluded.fault,
      late_completions = excluded.late_completions,
      fault_since = case when excluded.fault is not null then coalesce(last.fault_since, excluded.fault_since) end`.execute(
    db,
  )
  return rows.flatMap(({ name, fault }) => (fault === null ? [] : [`${name}: ${fault}`]))
}

/** How many records, windows, months and vehicles of a stream of a rooftop differ, by the last comparison of each. */
interface Differing {
  readonly id: number
  readonly stream: string
  readonly values: number
  readonly ids: number
  readonly counts: number
  /** Months and vehicles. */
  readonly sums: number
  readonly orphans: number
  readonly duplicates: number
  readonly due: number
}

const noDifferences = { values: 0, ids: 0, counts: 0, sums: 0, orphans: 0, duplicates: 0, due: 0 }

/** Stores what a comparison of all windows and sums found. */
async function saveWhole(
  db: Db,
  rooftops: readonly RooftopRow[],
  { checked, duplicates, aggregates }: WarehouseVerification,
  since: Date,
): Promise<void> {
  const streams = [...new Set(checked.map(({ stream }) => stream))]
  const groups = await firstOfGroups(db, rooftops)
  await sql`
    delete from ops.value_difference
    where stream = any(${streams}::text[]) and case kind when 'values' then false
      when 'vehicles' then rooftop_id = any(${groups.map(({ id }) => id)}::int[])
      else rooftop_id = any(${rooftops.map(({ id }) => id)}::int[]) end`.execute(db)
  const save = async (
    of: Pick<Comparison, 'stream' | 'kind'>,
    rooftop: RooftopRow,
    found: readonly Difference[],
  ) => await saveFound(db, { ...of, rooftop, found, keys: found.map(({ record }) => record) })
  for (const { rooftop: uid, stream, notStored, brokenSums, orphans } of checked) {
    const rooftop = rooftops.find((one) => one.uid === uid)
    if (rooftop === undefined) continue
    await save({ stream, kind: 'ids' }, rooftop, windowDifferences(notStored, brokenSums))
    const twice = stream === 'evaluations' ? duplicates : []
    const isDueWrong =
      stream === 'evaluations' && aggregates.some((one) => one.kind === 'due' && one.of === uid)
    await save({ stream, kind: 'records' }, rooftop, [
      ...recordDifferences(rooftop, orphans, twice),
      ...(isDueWrong ? await dueDifferences(db, rooftop, null) : []),
    ])
  }
  for (const { of: uid, days } of aggregates) {
    const rooftop = rooftops.find((one) => one.uid === uid)
    if (rooftop === undefined || days === null) continue
    const { rows } = await sql<{ months: string[] }>`
      select array_agg(month::date::text) as months
      from generate_series(date_trunc('month', ${days.first}::timestamp), ${days.last}::timestamp, interval '1 month') as month`.execute(
      db,
    )
    const keys = rows[0]!.months
    const found = await sumDifferences(db, rooftop.id, keys)
    await saveFound(db, { stream: 'evaluations', kind: 'sums', rooftop, keys, found })
  }
  const wrongGroups = new Set(
    aggregates.flatMap(({ kind, rooftops }) => (kind === 'vehicles' ? rooftops : [])),
  )
  for (const rooftop of groups)
    if (wrongGroups.has(rooftop.uid)) {
      const found = await vehicleDifferences(db, rooftop.groupId, null)
      await save({ stream: 'evaluations', kind: 'vehicles' }, rooftop, found)
    }
  await saveFullRound(db, { kind: 'ids', streams }, rooftops, since)
}

/** What differs, besides gaps and windows that cannot be proved, which need no comparison. `verified` null: it has no windows. */
function listFaults(
  verified: Verification | null,
  { values, ids, counts, sums, orphans, duplicates, due }: Omit<Differing, 'id' | 'stream'>,
): string[] {
  const { overlaps, uncertified } = verified ?? { overlaps: [], uncertified: [] }
  const certificates = overlaps.length + counts + uncertified.length
  return [
    ids > 0 && `the stored rows of ${plural(ids, 'window')} differ from what was listed`,
    certificates > 0 && `${plural(certificates, 'certificate')} cannot be right`,
    orphans > 0 && `rows of ${plural(orphans, 'record')} without the record itself`,
    duplicates > 0 && `${plural(duplicates, 'evaluation')} of another rooftop too`,
    sums > 0 && 'sums of the reports differ from their facts',
    due > 0 && `what is due for Pricing AI differs from the facts of ${plural(due, 'evaluation')}`,
    values > 0 && `the values of ${plural(values, 'record')} differ from the payloads`,
  ].filter((part) => part !== false)
}
