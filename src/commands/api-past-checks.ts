import { pastOperations, readPastChecks } from '../streams/vehicle-checks/past-checks.ts'
import type { BillingContext, PastChecks, PastSubject } from './api-billing-context.ts'

/** Reads the past checks: costs nothing. SyncError as any read; RecordIssues when the answer is of another shape. */
export async function readPast(
  { session, client }: BillingContext,
  { kind, evalId, rooftop }: PastSubject,
  signal: AbortSignal = session.io.signal,
): Promise<PastChecks> {
  const { body, date } = await client.call(pastOperations[kind], {
    fields: { evalid: evalId },
    naturalKey: String(evalId),
    rooftop,
    signal,
  })
  const checks = readPastChecks(body, session.config.wire.appraisal)
  const at = date ?? new Date()
  return { kind, evalId, rooftop, checks, body, at, isDated: date !== null }
}

/** The item of a check as received: it replaces a lost answer. */
export function findItem({ session }: BillingContext, { body }: PastChecks, ref: string): unknown {
  const items = Array.isArray(body) ? body : []
  return items.find((item) => readPastChecks([item], session.config.wire.appraisal)[0]?.ref === ref)
}
