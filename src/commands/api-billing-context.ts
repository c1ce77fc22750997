import type pg from 'pg'
import type { Outcome, OutcomeFacts } from '../billing/ledger.ts'
import type { ListedKind, PastList } from '../billing/past-calls.ts'
import type { Effect, Operation } from '../contract/operation.ts'
import type { Db } from '../db/transaction.ts'
import type { ServiceClient } from '../sources/service-client.ts'
import type { PastCheck } from '../streams/vehicle-checks/past-checks.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Session } from './session.ts'

/** The session, client and database of a billable call. */
export interface BillingContext {
  readonly session: Session
  readonly client: ServiceClient<Effect>
  readonly pool: pg.Pool
  readonly db: Db
}

/** The evaluation and the kind of past checks to read. */
export interface PastSubject {
  readonly kind: ListedKind
  readonly evalId: number
  readonly rooftop: RooftopRow
}

/** The past checks of an evaluation's vehicle as the source lists them now. */
export interface PastChecks extends PastSubject, PastList {
  readonly checks: readonly PastCheck[]
  /** As received. */
  readonly body: unknown
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
