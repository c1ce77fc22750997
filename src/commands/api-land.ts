import { listedKindOf } from '../billing/past-calls.ts'
import type { Operation } from '../contract/operation.ts'
import { numberAt, textAt } from '../contract/vehicle-data/reading.ts'
import { type Db, inTransaction } from '../db/transaction.ts'
import { messageOf } from '../errors.ts'
import { keepPayloads } from '../pipeline/load.ts'
import { loadPastChecks } from '../streams/vehicle-checks/load-past.ts'
import { bodyHash } from '../values/content-hash.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Desk, Past } from './api-desk.ts'

/** An answer that was paid for. */
export interface PaidAnswer {
  readonly operation: Operation
  readonly rooftop: RooftopRow | null
  readonly naturalKey: string | null
  readonly text: string
  /** The source's time. */
  readonly at: Date
}

/** Keeps a paid answer as received, as a run of its own, whose id it gives. Null where no rooftop was named or the answer is
 *  empty. Never fails: what was paid for must still be shown. */
export async function keepAnswer(desk: Desk, answer: PaidAnswer): Promise<number | null> {
  const { log } = desk.session
  const { operation, rooftop, naturalKey, text } = answer
  if (rooftop === null || naturalKey === null || text.trim() === '') {
    log.info({ operation: operation.name }, 'the answer is kept nowhere: --rooftop keeps it in raw')
    return null
  }
  const payload = { naturalKey, text, hash: bodyHash(text), fetchedAt: new Date() }
  try {
    return await inTransaction(desk.pool, async (tx) => {
      const runId = await insertEndedRun(tx.db, answer)
      await keepPayloads(tx, operation.name, rooftop, runId, [payload])
      return runId
    })
  } catch (error) {
    log.warn({ operation: operation.name, err: error }, 'the answer could not be kept in raw')
    return null
  }
}

/** What was brought in by a command has a run to be traced to, as everything has. */
async function insertEndedRun(db: Db, { operation, naturalKey, at }: PaidAnswer): Promise<number> {
  const { run_id } = await db
    .insertInto('ops.run')
    .values({
      command: `api ${operation.name}`,
      arguments: JSON.stringify({ subject: naturalKey }),
      status: 'ok',
      source_started_at: at,
      finished_at: new Date(),
      process_id: process.pid,
    })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  return run_id
}

/** Brings the past checks of a paid call into the warehouse; false when its evaluation is not there yet. */
export async function landPast(desk: Desk, past: Past, runId: number | null): Promise<boolean> {
  const { evalId, kind, checks, at } = past
  const { groupId } = past.rooftop
  const { log } = desk.session
  const vin = await vinOf(desk.db, past)
  if (vin === null) {
    const what = { evalId, checks: kind }
    log.info(what, 'the evaluation is not in the warehouse: a sync of vehicle-checks will bring it')
    return false
  }
  const [loaded] = await inTransaction(desk.pool, ({ db }) =>
    loadPastChecks(db, [{ groupId, vin, kind, checks, at }], runId),
  )
  for (const { check, detail } of loaded!.warnings) log.warn({ evalId, check }, detail)
  return true
}

/** Null where the warehouse does not have the evaluation, or no VIN that a check could be made on. */
async function vinOf(db: Db, { rooftop, evalId }: Past): Promise<string | null> {
  const rows = await db
    .selectFrom('core.evaluation')
    .select('vin')
    .where('group_id', '=', rooftop.groupId)
    .where('eval_id', '=', evalId)
    .execute()
  const vin = rows.find((row) => row.vin?.trim().length === 17)?.vin
  return vin?.trim().toUpperCase() ?? null
}

/** The id that an answer gives the check it has made; null where it gives none. */
export function answeredRef(
  { name }: Operation,
  body: unknown,
  { ppsrCertificate, carHistory }: AppraisalWire,
): string | null {
  const names = listedKindOf(name) === 'ppsr' ? ppsrCertificate : carHistory
  return textAt(body, names.id)?.trim().slice(0, 80) ?? null
}

/** What only the answer of a search says: counts, and the number of the certificate. */
export async function keepCounts(
  { db, session }: Desk,
  { groupId }: RooftopRow,
  ref: string,
  body: unknown,
): Promise<void> {
  const names = session.config.wire.appraisal.ppsrCertificate
  const facts = {
    security_interest_count: countAt(body, names.securityInterests),
    written_off_count: countAt(body, names.writeOffs),
    stolen_count: countAt(body, names.stolen),
    certificate_number: textAt(body, names.certificateNumber)?.slice(0, 80) ?? null,
  }
  const told = Object.entries(facts).filter(([, value]) => value !== null)
  if (told.length === 0) return
  await db
    .updateTable('core.vehicle_check')
    .set(Object.fromEntries(told))
    .where('group_id', '=', groupId)
    .where('check_kind', '=', 'ppsr')
    .where('check_ref', '=', ref)
    .execute()
}

function countAt(body: unknown, path: Parameters<typeof numberAt>[1]): number | null {
  const count = numberAt(body, path)
  return count !== null && Number.isInteger(count) && count >= 0 && count < 2 ** 31 ? count : null
}

/** Says that something paid for is not in the warehouse, and what brings it there. */
export function tellNotLanded(
  { session }: Desk,
  call: { readonly operation: string },
  error: unknown,
): void {
  session.log.warn(
    { operation: call.operation, reason: messageOf(error) },
    'it was paid for, but is not in the warehouse yet: run "forecourt sync vehicle-checks"',
  )
}
