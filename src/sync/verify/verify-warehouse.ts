import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { plural } from '../../values/text.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { Stream } from '../run/stream.ts'
import {
  duplicateIds,
  repairableSpans,
  uncover,
  type Verification,
  verifyStreams,
} from './verify.ts'
import { verifyAggregates, type WrongAggregate } from './verify-aggregates.ts'

/** What is found by comparing certificates, stored rows and sums, without a call and without payloads. */
export interface WarehouseVerification {
  /** By stream, then by rooftop. */
  readonly checked: readonly Verification[]
  readonly duplicates: readonly { readonly evalId: number; readonly rooftops: readonly string[] }[]
  readonly aggregates: readonly WrongAggregate[]
}

/** Verifies one snapshot of the warehouse, also during a sync. */
export async function verifyWarehouse(
  { pool }: Pick<Warehouse, 'pool'>,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  sync: Config['sync'],
): Promise<WarehouseVerification> {
  const read = async ({ db }: { readonly db: Db }): Promise<WarehouseVerification> => {
    const checked: Verification[] = []
    for (const records of streams.flatMap((stream) => stream.records ?? []))
      checked.push(...(await verifyStreams(db, records, rooftops, sync, new Date())))
    const duplicates = await duplicateIds(db)
    return { checked, duplicates, aggregates: await verifyAggregates(db, rooftops) }
  }
  return await inTransaction(pool, read, 'repeatable read, read only')
}

/** Takes what listing and reading again repairs out of the coverage, so that the next sync does so. */
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
  const wrongSums = await readRooftopUids(db, found.aggregates)
  // A rooftop that no run has registered has no row to refer to.
  const known = rooftops.filter(({ id }) => id !== 0)
  const { rows: values } = await sql<{ id: number; stream: string; records: number }>`
    select rooftop_id as id, stream, count(*)::int as records from ops.value_difference
    where rooftop_id = any(${known.map(({ id }) => id)}::int[]) group by 1, 2
    -- Streams without windows have a row once something differed.
    union all select rooftop_id, stream, 0 from ops.verification where rooftop_id = any(${known.map(({ id }) => id)}::int[])`.execute(
    db,
  )
  const rows = known.flatMap(({ id, uid }) => {
    const compared = values.filter((row) => row.id === id)
    const checked = found.checked.filter(({ rooftop }) => rooftop === uid)
    const streams = [...checked, ...compared].map(({ stream }) => stream)
    return [...new Set(streams)].map((stream) => {
      const one = checked.find((verified) => verified.stream === stream)
      const records = compared
        .filter((row) => row.stream === stream)
        .reduce((sum, row) => sum + row.records, 0)
      const parts = [
        ...(one === undefined ? [] : listFaults(one, found, wrongSums)),
        ...(records > 0
          ? [`the values of ${plural(records, 'record')} differ from the payloads`]
          : []),
      ]
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

/** What differs, besides gaps and windows that cannot be proved, which need no comparison. */
function listFaults(
  { rooftop, stream, overlaps, brokenSums, uncertified, notStored, orphans }: Verification,
  { duplicates }: WarehouseVerification,
  wrongSums: ReadonlySet<string>,
): string[] {
  const isOfEvaluations = stream === 'evaluations'
  const certificates = overlaps.length + brokenSums.length + uncertified.length
  const twice = duplicates.filter(({ rooftops }) => rooftops.includes(rooftop)).length
  return [
    notStored.length > 0 &&
      `the stored rows of ${plural(notStored.length, 'window')} differ from what was listed`,
    certificates > 0 && `${plural(certificates, 'certificate')} cannot be right`,
    orphans > 0 && `${plural(orphans, 'row')} without ${orphans === 1 ? 'its' : 'their'} record`,
    isOfEvaluations && twice > 0 && `${plural(twice, 'evaluation')} of another rooftop too`,
    isOfEvaluations && wrongSums.has(rooftop) && 'sums of the reports differ from their facts',
  ].filter((part) => part !== false)
}

/** The uids of the rooftops whose aggregates, or those of their dealer group, are wrong. */
async function readRooftopUids(
  db: Db,
  aggregates: readonly WrongAggregate[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ uid: string }>`
    select rooftop_uid as uid from core.rooftop join core.rooftop_group using (group_id)
    where rooftop_uid = any(${aggregates.map(({ of }) => of)}::text[]) or group_code = any(${aggregates.map(({ of }) => of)}::text[])`.execute(
    db,
  )
  return new Set(rows.map(({ uid }) => uid))
}
