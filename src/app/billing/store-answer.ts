import { getEvaluation } from '../../api/contract/appraisal/evaluations.ts'
import type { Operation } from '../../api/contract/operation.ts'
import { textAt } from '../../api/contract/reading.ts'
import { errorText } from '../../errors.ts'
import { screenAnswer } from '../../privacy/screen/suppression.ts'
import { loadChecks } from '../../streams/vehicle-checks/load-checks.ts'
import { relistReports } from '../../streams/vehicle-checks/make-due.ts'
import { savePayloads } from '../../sync/records/load-records.ts'
import { bodyHash } from '../../values/content-hash.ts'
import { valueAt } from '../../values/json-path.ts'
import { rooftopOptions } from '../../values/shell.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { holdErasureLock } from '../../warehouse/db/locks.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import type { BillableSubject, BillingContext, PastChecks } from './billing-context.ts'
import { type AnsweredCheck, listedKind } from './past-calls.ts'

/** An answer that was paid for. */
interface PaidAnswer extends Omit<BillableSubject, 'again'> {
  readonly text: string
  /** The source's time. */
  readonly at: Date
}

/** Stores a paid answer as received, with its own run, and returns the run id. Null when no rooftop was named or the answer is empty.
 *  Never fails: the paid answer must still be shown. */
export async function storeAnswer(
  billing: BillingContext,
  answer: PaidAnswer,
): Promise<number | null> {
  const { log } = billing
  const { operation, rooftop, naturalKey } = answer
  if (rooftop === null || naturalKey === null || answer.text.trim() === '') {
    log.info(
      { operation: operation.name },
      'the answer is not stored: with --rooftop it is stored in raw',
    )
    return null
  }
  const evalId = Number(/^\d{1,15}(?=\/|$)/.exec(naturalKey)?.[0] ?? 0)
  try {
    return await inTransaction(billing.pool, async (tx) => {
      await holdErasureLock(tx)
      const received = { text: answer.text, endpoint: operation.name }
      const about = {
        groupId: rooftop.groupId,
        evalId: 'evalid' in operation.fields.shape && evalId > 0 ? evalId : null,
      }
      const text = await screenAnswer(tx.db, received, about, billing.config.wire.appraisal)
      const payload = { naturalKey, text, hash: bodyHash(text), fetchedAt: new Date() }
      const runId = await insertEndedRun(tx.db, answer)
      await savePayloads(tx, operation.name, rooftop, runId, [payload])
      return runId
    })
  } catch (error) {
    log.warn({ operation: operation.name, err: error }, 'the answer could not be stored in raw')
    return null
  }
}

/** Inserts a finished run, so that the stored answer can be traced like every payload. */
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

/** The evaluation of a check is not in the warehouse. */
class NotLoaded extends Error {
  override readonly name = 'NotLoaded'
  readonly rooftop: string

  constructor({ evalId, rooftop }: PastChecks) {
    super(`the warehouse does not have evaluation ${evalId}`)
    this.rooftop = rooftop.uid
  }
}

/** Loads the past checks of a paid call into the warehouse and returns their VIN. When it rejects, nothing was written. */
export async function loadPast(
  billing: BillingContext,
  past: PastChecks,
  runId: number | null,
): Promise<string> {
  const { evalId, kind, checks, at } = past
  const { groupId } = past.rooftop
  const vin = await findVin(billing.db, past)
  if (vin === null) throw new NotLoaded(past)
  if ((await vinAtSource(billing, past)) !== vin)
    throw new Error(`the VIN of evaluation ${evalId} has changed at the source`)
  const warnings = await inTransaction(billing.pool, async (tx) => {
    const itemsWithoutId = (past.body as readonly unknown[]).length - checks.length
    const about = { groupId, vin, at, runId, isOfThisVehicle: true }
    const answer = { ...about, kind, checks, itemsWithoutId }
    const [loaded] = await loadChecks(tx, [answer], billing.config.wire.appraisal)
    if (kind === 'ppsr' && loaded!.statusChanged) await relistReports(tx.db, groupId, [vin])
    return loaded!.warnings
  })
  for (const { check, detail } of warnings) billing.log.warn({ evalId, check }, detail)
  return vin
}

/** Like `loadPast`, but logs an error instead of rejecting. */
export async function loadOrWarn(
  billing: BillingContext,
  past: PastChecks,
  operation: string,
): Promise<void> {
  try {
    await loadPast(billing, past, null)
  } catch (error) {
    warnNotLoaded(billing, operation, error)
  }
}

/** Null when the warehouse does not have the evaluation, or not with a complete VIN. */
async function findVin(db: Db, { rooftop, evalId }: PastChecks): Promise<string | null> {
  const rows = await db
    .selectFrom('core.evaluation')
    .select('vin')
    .where('group_id', '=', rooftop.groupId)
    .where('eval_id', '=', evalId)
    .execute()
  return rows.map(({ vin }) => wholeVin(vin)).find((vin) => vin !== null) ?? null
}

/** The current VIN of the evaluation at the source: the past checks are of this VIN. */
async function vinAtSource(
  { client, signal }: BillingContext,
  past: PastChecks,
): Promise<string | null> {
  const { evalId, rooftop } = past
  const { body } = await client.call(getEvaluation, {
    fields: { evalid: evalId },
    naturalKey: String(evalId),
    rooftop,
    signal,
  })
  const items: readonly unknown[] = Array.isArray(body) ? body : []
  const matching = items.find((item) => valueAt(item, 'EvalID') === evalId)
  return wholeVin(valueAt(matching, 'VIN'))
}

function wholeVin(value: unknown): string | null {
  const vin = typeof value === 'string' ? value.trim().toUpperCase() : ''
  return vin.length === 17 ? vin : null
}

/** What an answer says about the check that it made. */
export function readAnsweredCheck(
  { name }: Operation,
  body: unknown,
  { ppsrCertificate, carHistory }: AppraisalWire,
): AnsweredCheck {
  const isPpsr = listedKind(name) === 'ppsr'
  const ref =
    textAt(body, (isPpsr ? ppsrCertificate : carHistory).id)
      ?.trim()
      .slice(0, 80) ?? null
  // A report's list gives the number of a certificate beside it: that is not its own.
  const certificateNumber = isPpsr
    ? (textAt(body, ppsrCertificate.certificateNumber) ?? null)
    : null
  return { ref, certificateNumber }
}

/** Logs that a paid check is not in the warehouse, and when it will be loaded. */
export function warnNotLoaded({ log }: BillingContext, operation: string, error: unknown): void {
  const when =
    error instanceof NotLoaded
      ? 'the first "forecourt sync" after the evaluation is complete loads its row; for an evaluation from before sync.start, ' +
        `run "forecourt backfill evaluations --from <the day it was created> --to <the next day>${rooftopOptions(error.rooftop)}", then "forecourt sync"`
      : 'the next "forecourt sync" loads its row'
  log.warn(
    { operation, reason: errorText(error) },
    `the paid check is not in the warehouse yet: ${when}`,
  )
}
