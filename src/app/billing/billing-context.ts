import type pg from 'pg'
import {
  type CheckKind,
  type PastCheck,
  pastOperations,
  readPastChecks,
} from '../../api/contract/appraisal/past-checks.ts'
import type { Effect, Operation } from '../../api/contract/operation.ts'
import type { ServiceClient } from '../../api/sources/service-client.ts'
import type { Log } from '../../log.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Config } from '../config/read.ts'
import type { Outcome, OutcomeFacts } from './ledger.ts'
import type { PastList } from './past-calls.ts'

/** The client, the warehouse and the config of a billable call. */
export interface BillingContext {
  readonly config: Config
  readonly log: Log
  /** Ends waiting; a call that was sent is settled all the same. */
  readonly signal: AbortSignal
  readonly client: ServiceClient<Effect>
  readonly pool: pg.Pool
  readonly db: Db
  /** Who pays, for the ledger: `user@host`. */
  readonly requestedBy: string
}

/** The operation and subject of a billable call. */
export interface BillableSubject {
  readonly operation: Operation
  readonly rooftop: RooftopRow | null
  readonly naturalKey: string | null
  /** Pay although an earlier call for the same subject is still valid or may have been billed. */
  readonly again: boolean
}

/** A reserved call that is about to be sent. */
export interface ReservedCall extends BillableSubject {
  readonly callId: number
  /** `performance.now()` of the reservation. */
  readonly reservedMs: number
  /** Null when no operation lists its checks. */
  readonly listed: PastSubject | null
  /** Null: not listed, or not readable. */
  readonly before: PastChecks | null
  settle(outcome: Outcome, facts: OutcomeFacts): Promise<void>
}

/** The result of a billable call that took effect. */
export interface PaidResult {
  /** The answer as received; when it was lost, the check from the past checks. */
  readonly body: unknown
  /** Loads the paid result into the warehouse, or logs when it will be loaded. `last` is the answer that was shown. */
  finish(last: unknown): Promise<void>
}

/** The evaluation and the kind of past checks to read. */
export interface PastSubject {
  readonly kind: CheckKind
  readonly evalId: number
  readonly rooftop: RooftopRow
}

/** The past checks of an evaluation's vehicle as the source lists them now. */
export interface PastChecks extends PastSubject, PastList {
  readonly checks: readonly PastCheck[]
  /** As received. */
  readonly body: unknown
}

/** Reads the past checks: costs nothing. SyncError as any read; RecordIssues when the answer is of another shape. */
export async function readPast(
  { config, client, signal: always }: BillingContext,
  { kind, evalId, rooftop }: PastSubject,
  signal: AbortSignal = always,
): Promise<PastChecks> {
  const { body, date } = await client.call(pastOperations[kind], {
    fields: { evalid: evalId },
    naturalKey: String(evalId),
    rooftop,
    signal,
  })
  const checks = readPastChecks(body, config.wire.appraisal)
  const at = date ?? new Date()
  return { kind, evalId, rooftop, checks, body, at, isDated: date !== null }
}
