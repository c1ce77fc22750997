import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { AlertMessage } from './alert-message.ts'
import type { Failure } from './alert-post.ts'
import type { Recipients, Severity } from './alert-routes.ts'

// The rows of ops.alert and ops.alert_message.

/** Attempts to send a message. The pauses are 1, 3, 5 … minutes, so the last attempt is 81 minutes after the first. */
export const maxAttempts = 10
const pause = sql`make_interval(mins => 2 * attempts + 1)`

/** What is recorded of an attempt before it ends. */
const unknownEnd = 'the attempt has not ended, or its process died'

const isConfigured = ({ targets, recipients }: Recipients) =>
  sql`(message.target, message.recipient) in (select * from unnest(${targets}::text[], ${recipients}::text[]))`

/** Gives the alerts of an earlier version to a source. The first process that reports ends them. */
export async function takeOverAlerts(db: Db, sourceId: number): Promise<void> {
  await sql`update ops.alert set source_id = ${sourceId} where source_id is null`.execute(db)
}

/** Opens alerts for new problems, and resolves those of the kind that are over: of one source, since its processes see no problem of
 *  another. Updates the text of alerts not sent yet. */
export async function saveProblems(
  db: Db,
  { kind, sourceId }: { readonly kind: string; readonly sourceId: number },
  problems: readonly { readonly key: string; readonly what: string }[],
  openKeys: readonly string[],
): Promise<void> {
  await sql`
    insert into ops.alert as open (alert_key, detail, source_id)
    select *, ${sourceId} from unnest(${problems.map(({ key }) => key)}::text[], ${problems.map(({ what }) => what)}::text[])
    on conflict (alert_key, source_id) where resolved_at is null do update set detail = excluded.detail
    where open.told_at is null and open.detail <> excluded.detail`.execute(db)
  await sql`
    update ops.alert set resolved_at = now()
    where resolved_at is null and source_id = ${sourceId} and starts_with(alert_key, ${kind})
      and alert_key <> all(${openKeys}::text[])`.execute(db)
}

/** A message to queue for an open alert. */
interface NewMessage {
  readonly target: string
  readonly recipient: string
  readonly key: string
  readonly severity: Severity
}

/** Queues messages of open alerts, each once. */
export async function queueRaised(
  db: Db,
  sourceId: number,
  messages: readonly NewMessage[],
): Promise<void> {
  if (messages.length === 0) return
  await sql`
    insert into ops.alert_message (target, recipient, kind, alert_id, severity)
    select target, recipient, 'raised', alert_id, severity
    from unnest(${messages.map(({ target }) => target)}::text[],
      ${messages.map(({ recipient }) => recipient)}::text[], ${messages.map(({ key }) => key)}::text[],
      ${messages.map(({ severity }) => severity)}::text[]) as new (target, recipient, key, severity)
    join ops.alert on alert_key = key and source_id = ${sourceId} and resolved_at is null
    on conflict do nothing`.execute(db)
}

/** Queues that a problem is over, for those who may know that it began: a message without an answer may have arrived. */
export async function queueEnds(db: Db, sending: Omit<Sending, 'afterMinutes'>): Promise<void> {
  // A message may be on its way while its alert is resolved, so not only of what was just resolved, and not before it ends.
  await sql`
    insert into ops.alert_message (target, recipient, kind, alert_id, severity)
    select target, recipient, 'resolved', alert_id, severity from ops.alert join ops.alert_message as message using (alert_id)
    where ${isConfigured(sending)} and kind = 'raised' and (sent_at is not null or retry_at <= now())
      and resolved_at > now() - interval '1 day' and source_id = ${sending.sourceId}
    on conflict do nothing`.execute(db)
}

/** Who may get what now. */
export interface Sending extends Recipients {
  /** Whose problems. */
  readonly sourceId: number
  /** Minutes that a problem must last. */
  readonly afterMinutes: number
}

/** A message that is to be sent now. */
export interface DueMessage extends NewMessage, Pick<AlertMessage, 'what'> {
  readonly id: string
  readonly state: 'raised' | 'resolved'
  readonly since: Date
  readonly until: Date | null
  readonly attempts: number
}

const isDue = (sending: Sending) => sql`
  ${isConfigured(sending)} and alert.source_id = ${sending.sourceId} and sent_at is null and attempts < ${maxAttempts}
  and (retry_at is null or retry_at <= now()) and not exists (
    select from ops.alert_message as asked
    where asked.target = message.target and asked.recipient = message.recipient and asked.sent_at is null and asked.paused_until > now())
  and (kind <> 'raised' or resolved_at is null and raised_at <= now() - make_interval(secs => ${sending.afterMinutes}::float8 * 60))`

/** Messages of one receiver that are sent in one pass. */
const maxAtOnce = 10

/** What is to be sent: all ends, but new alerts of these kinds only, since a check has just confirmed those. */
export async function dueMessages(
  db: Db,
  sending: Sending,
  kinds: readonly string[],
): Promise<readonly DueMessage[]> {
  const { rows } = await sql<DueMessage>`
    select * from (
      select message_id as id, message.target, recipient, kind as state, message.severity, attempts,
        alert_key as key, detail as what, raised_at as since, case when kind = 'resolved' then resolved_at end as until,
        row_number() over (partition by message.target, recipient order by attempts, made_at, message_id) as position
      from ops.alert_message as message join ops.alert as alert using (alert_id)
      where ${isDue(sending)} and (kind <> 'raised' or alert_key ^@ any(${kinds}::text[]))) as due
    where position <= ${maxAtOnce} order by position`.execute(db)
  return rows
}

/** Whether a message of an objective is to be sent, once a check has confirmed it. */
export async function isObjectiveDue(db: Db, sending: Sending): Promise<boolean> {
  const { rows } = await sql<{ due: boolean }>`
    select exists (select from ops.alert_message as message join ops.alert as alert using (alert_id)
      where kind = 'raised' and starts_with(alert_key, 'objective/')
        and ${isDue(sending)}) as due`.execute(db)
  return rows[0]!.due
}

/** Counts an attempt that begins; false: another process has started it, or the message arrived. */
export async function claimAttempt(
  db: Db,
  { id, attempts }: Pick<DueMessage, 'id' | 'attempts'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update ops.alert_message set attempts = attempts + 1, tried_at = clock_timestamp(),
      retry_at = clock_timestamp() + ${pause}, error = ${unknownEnd}
    where message_id = ${id} and attempts = ${attempts} and sent_at is null`.execute(db)
  return numAffectedRows === 1n
}

/** Records that a message arrived. */
export async function recordSent(
  db: Db,
  { id, target, recipient }: Pick<DueMessage, 'id' | 'target' | 'recipient'>,
): Promise<void> {
  await sql`
    with sent as (
      update ops.alert_message set sent_at = clock_timestamp(), error = null where message_id = ${id} returning alert_id)
    update ops.alert set told_at = coalesce(told_at, now())
    from sent where alert.alert_id = sent.alert_id`.execute(db)
  await retryGivenUp(db, target, recipient)
}

/** Why an attempt failed, and for how long the receiver asked to get nothing. */
export async function recordFailure(
  db: Db,
  id: string,
  { reason, pauseMs }: Failure,
): Promise<void> {
  await sql`
    update ops.alert_message set error = left(${reason}, 300),
      paused_until = clock_timestamp() + make_interval(secs => ${pauseMs}::float8 / 1000)
    where message_id = ${id}`.execute(db)
}

/** Tries again what was not tried any more, as the receiver has just taken a message, and forgets the attempts of what is not news now. */
export async function retryGivenUp(db: Db, target: string, recipient: string): Promise<void> {
  await sql`
    update ops.alert_message as message set attempts = 0, paused_until = null,
      retry_at = case when attempts >= ${maxAttempts} then now() else retry_at end
    where target = ${target} and recipient = ${recipient} and sent_at is null
      and (attempts >= ${maxAttempts} or kind = 'raised' and exists (select from ops.alert
        where alert.alert_id = message.alert_id and resolved_at is not null))`.execute(db)
}
