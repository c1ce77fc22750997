import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import { alertTargets } from '../config/alerts.ts'
import type { Config } from '../config/read.ts'
import { maxAttempts } from './alert-outbox.ts'
import { allRecipients } from './alert-routes.ts'

/** Whether a receiver of alerts gets its messages. */
export interface AlertStatus {
  /** retrying: the last attempt failed, and another follows; failed: a message was not sent after all attempts. */
  readonly status: 'ok' | 'never' | 'retrying' | 'failed'
  readonly lastSentAt: string | null
  /** Messages that will be tried again. */
  readonly waiting: number
  /** Messages that were not sent and will not be, unless the receiver takes another one. */
  readonly notSent: number
  /** Why the last attempt failed. */
  readonly error: string | null
}

interface Facts extends Pick<AlertStatus, 'waiting' | 'notSent' | 'error'> {
  readonly target: string
  readonly sentAt: Date | null
}

/** What to do about a receiver that does not get its messages. A process that runs keeps the address that it started with. */
export function alertCure(name: string): string {
  return `Correct it (after a change of the config, restart "forecourt schedule", "serve" and "stock watch"), then run "forecourt alerts test ${name}".`
}

/** The status of every receiver of the config, by name, without their addresses. */
export async function readAlertStatuses(
  db: Db,
  config: Pick<Config, 'alerts'>,
): Promise<Readonly<Record<string, AlertStatus>>> {
  const names = alertTargets(config.alerts).map(({ name }) => name)
  if (names.length === 0) return {}
  const { targets, recipients } = allRecipients(config.alerts)
  // A problem that was over before its message arrived is not reported any more. What failed before the last success is history.
  const { rows } = await sql<Facts>`
    with message as (
      select target, sent_at, tried_at, error,
        attempts >= ${maxAttempts} or kind = 'raised' and resolved_at is not null as is_over,
        sent_at is null and attempts > 0
          and tried_at > coalesce(max(sent_at) over (partition by target, recipient), '-infinity') as is_failing
      from ops.alert_message join ops.alert using (alert_id)
      where (target, recipient) in (select * from unnest(${targets}::text[], ${recipients}::text[])))
    select target, max(sent_at) as "sentAt",
      count(*) filter (where is_failing and not is_over)::int as waiting,
      count(*) filter (where is_failing and is_over)::int as "notSent",
      (array_agg(error order by tried_at desc) filter (where is_failing))[1] as error
    from message group by target`.execute(db)
  const found = new Map(rows.map((row) => [row.target, row]))
  return Object.fromEntries(names.map((name) => [name, targetStatus(found.get(name))]))
}

function targetStatus(facts: Facts | undefined): AlertStatus {
  const { sentAt = null, waiting = 0, notSent = 0, error = null } = facts ?? {}
  const lastSentAt = sentAt?.toISOString() ?? null
  const good = lastSentAt === null ? 'never' : 'ok'
  const status = notSent > 0 ? 'failed' : waiting > 0 ? 'retrying' : good
  return { status, lastSentAt, waiting, notSent, error }
}

/** Whether every message arrived, or will be tried again. */
export function isAlertHealthy({ status }: AlertStatus): boolean {
  return status !== 'failed'
}
