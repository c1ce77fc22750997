import type pg from 'pg'
import type { Outcome, OutcomeFacts } from '../billing/ledger.ts'
import type { ListedKind, PastList } from '../billing/past-calls.ts'
import type { Effect, Operation } from '../contract/operation.ts'
import type { Db } from '../db/transaction.ts'
import type { ServiceClient } from '../sources/service-client.ts'
import type { PastCheck } from '../streams/vehicle-checks/past-checks.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Session } from './session.ts'

/** What a paid call works with. */
export interface BillingContext {
  readonly session: Session
  readonly client: ServiceClient<Effect>
  readonly pool: pg.Pool
  readonly db: Db
}

/** The evaluation whose past checks are read, and of which kind. */
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

/** What a billable call is about. */
export interface BillableSubject {
  readonly operation: Operation
  readonly rooftop: RooftopRow | null
  readonly naturalKey: string | null
  /** Pay although an earlier call for the same subject is still valid or may have been billed. */
  readonly again: boolean
}

/** A call that is reserved and about to be sent. */
export interface ReservedCall extends BillableSubject {
  readonly callId: number
  /** `performance.now()` of the reservation. */
  readonly reservedMs: number
  /** Null where nothing lists what the operation makes. */
  readonly listed: PastSubject | null
  /** Null: not listed, or not readable. */
  readonly before: PastChecks | null
  settle(outcome: Outcome, facts: OutcomeFacts): Promise<void>
}

/** A billable call that went through. */
export interface PaidResult {
  /** The answer as received; where it was lost, the check as the past checks show it. */
  readonly body: unknown
  /** Brings what was paid for into the warehouse, or says when it is loaded. `last` is what was shown. */
  finish(last: unknown): Promise<void>
}
