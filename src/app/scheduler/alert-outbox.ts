import type pg from 'pg'
import type { AlertMessage } from './alert-message.ts'
import type { Failure } from './alert-post.ts'
import type { Recipients, Severity } from './alert-routes.ts'

// The rows of ops.alert and ops.alert_message.

/** Attempts to send a message. The pauses are 1, 3, 5 … minutes, so the last attempt is 81 minutes after the first. */
export const maxAttempts = 10
const pause = `make_interval(mins => 2 * attempts + 1)`

/** What is recorded of an attempt before it ends. */
const unknownEnd = 'the attempt has not ended, or its process died'

// $1 and $2 the recipients of the config.
const isConfigured = `(message.target, message.recipient) in (select * from unnest($1::text[], $2::text[]))`

type Pool = Pick<pg.Pool, 'query'>

/** Gives the alerts of an earlier version to a source. The first process that reports ends them. */
export async function takeOverAlerts(pool: Pool, sourceId: number): Promise<void> {
  await pool.query('update ops.alert set source_id = $1 where source_id is null', [sourceId])
}

/** Opens alerts for new problems, and resolves those of the kind that are over: of one source, since its processes see no problem of
 *  another. Updates the text of alerts not sent yet. */
export async function saveProblems(
  pool: Pool,
  { kind, sourceId }: { readonly kind: string; readonly sourceId: number },
  problems: readonly { readonly key: string; readonly what: string }[],
  openKeys: readonly string[],
): Promise<void> {
  await pool.query(
    `insert into ops.alert as open (alert_key, detail, source_id) select *, $3 from unnest($1::text[], $2::text[])
     on conflict (alert_key, source_id) where resolved_at is null do update set detail = excluded.detail
     where open.told_at is null and open.detail <> excluded.detail`,
    [problems.map(({ key }) => key), problems.map(({ what }) => what), sourceId],
  )
  await pool.query(
    `update ops.alert set resolved_at = now()
     where resolved_at is null and source_id = $3 and starts_with(alert_key, $1) and alert_key <> all($2::text[])`,
    [kind, openKeys, sourceId],
  )
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
  pool: Pool,
  sourceId: number,
  messages: readonly NewMessage[],
): Promise<void> {
  if (messages.length === 0) return
  await pool.query(
    `insert into ops.alert_message (target, recipient, kind, alert_id, severity)
     select target, recipient, 'raised', alert_id, severity
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as new (target, recipient, key, severity)
     join ops.alert on alert_key = key and source_id = $5 and resolved_at is null
     on conflict do nothing`,
    [
      messages.map(({ target }) => target),
      messages.map(({ recipient }) => recipient),
      messages.map(({ key }) => key),
      messages.map(({ severity }) => severity),
      sourceId,
    ],
  )
}

/** Queues that a problem is over, for those who may know that it began: a message without an answer may have arrived. */
export async function queueEnds(
  pool: Pool,
  { targets, recipients, sourceId }: Omit<Sending, 'afterMinutes'>,
): Promise<void> {
  // A message may be on its way while its alert is resolved, so not only of what was just resolved, and not before it ends.
  await pool.query(
    `insert into ops.alert_message (target, recipient, kind, alert_id, severity)
     select target, recipient, 'resolved', alert_id, severity from ops.alert join ops.alert_message as message using (alert_id)
     where ${isConfigured} and kind = 'raised' and (sent_at is not null or retry_at <= now()) and resolved_at > now() - interval '1 day'
       and source_id = $3
     on conflict do nothing`,
    [targets, recipients, sourceId],
  )
}

/** Who may get what now. */
export interface Sending extends Recipients {
  /** Whose problems. */
  readonly sourceId: number
  /** Minutes that a problem must last. */
  readonly afterMinutes: number
}

/** A message that is to be sent now. */
export interface DueMessage extends Pick<AlertMessage, 'severity' | 'what'> {
  readonly id: string
  readonly target: string
  readonly recipient: string
  readonly state: 'raised' | 'resolved'
  readonly key: string
  readonly since: Date
  readonly until: Date | null
  readonly attempts: number
}

// $1 and $2 the recipients of the config, $3 the minutes that a problem must last, $4 the source.
const isDue = `${isConfigured} and alert.source_id = $4 and sent_at is null and attempts < ${maxAttempts}
  and (retry_at is null or retry_at <= now()) and not exists (
    select from ops.alert_message as asked
    where asked.target = message.target and asked.recipient = message.recipient and asked.sent_at is null and asked.paused_until > now())
  and (kind <> 'raised' or resolved_at is null and raised_at <= now() - make_interval(secs => $3::float8 * 60))`

/** Messages of one receiver that are sent in one pass. */
const maxAtOnce = 10

/** What is to be sent: all ends, but new alerts of these kinds only, since a check has just confirmed those. */
export async function dueMessages(
  pool: Pool,
  { targets, recipients, afterMinutes, sourceId }: Sending,
  kinds: readonly string[],
): Promise<readonly DueMessage[]> {
  const { rows } = await pool.query<DueMessage>(
    `select * from (
       select message_id as id, message.target, recipient, kind as state, message.severity, attempts,
         alert_key as key, detail as what, raised_at as since, case when kind = 'resolved' then resolved_at end as until,
         row_number() over (partition by message.target, recipient order by attempts, made_at, message_id) as position
       from ops.alert_message as message join ops.alert as alert using (alert_id)
       where ${isDue} and (kind <> 'raised' or alert_key ^@ any($5::text[]))) as due
     where position <= ${maxAtOnce} order by position`,
    [targets, recipients, afterMinutes, sourceId, kinds],
  )
  return rows
}

/** Whether a message of an objective is to be sent, once a check has confirmed it. */
export async function isObjectiveDue(
  pool: Pool,
  { targets, recipients, afterMinutes, sourceId }: Sending,
): Promise<boolean> {
  const { rows } = await pool.query<{ due: boolean }>(
    `select exists (select from ops.alert_message as message join ops.alert as alert using (alert_id)
       where kind = 'raised' and starts_with(alert_key, 'objective/') and ${isDue}) as due`,
    [targets, recipients, afterMinutes, sourceId],
  )
  return rows[0]!.due
}

/** Counts an attempt that begins; false: another process has started it, or the message arrived. */
export async function claimAttempt(
  pool: Pool,
  { id, attempts }: Pick<DueMessage, 'id' | 'attempts'>,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update ops.alert_message set attempts = attempts + 1, tried_at = clock_timestamp(), retry_at = clock_timestamp() + ${pause},
       error = '${unknownEnd}'
     where message_id = $1 and attempts = $2 and sent_at is null`,
    [id, attempts],
  )
  return rowCount === 1
}

/** Records that a message arrived. */
export async function recordSent(
  pool: Pool,
  { id, target, recipient }: Pick<DueMessage, 'id' | 'target' | 'recipient'>,
): Promise<void> {
  await pool.query(
    `with sent as (
       update ops.alert_message set sent_at = clock_timestamp(), error = null where message_id = $1 returning alert_id)
     update ops.alert set told_at = coalesce(told_at, now()) from sent where alert.alert_id = sent.alert_id`,
    [id],
  )
  await retryGivenUp(pool, target, recipient)
}

/** Why an attempt failed, and for how long the receiver asked to get nothing. */
export async function recordFailure(
  pool: Pool,
  id: string,
  { reason, pauseMs }: Failure,
): Promise<void> {
  await pool.query(
    `update ops.alert_message set error = left($2, 300), paused_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
     where message_id = $1`,
    [id, reason, pauseMs],
  )
}

/** Tries again what was not tried any more, as the receiver has just taken a message, and forgets the attempts of what is not news now. */
export async function retryGivenUp(pool: Pool, target: string, recipient: string): Promise<void> {
  await pool.query(
    `update ops.alert_message as message set attempts = 0, paused_until = null,
       retry_at = case when attempts >= ${maxAttempts} then now() else retry_at end
     where target = $1 and recipient = $2 and sent_at is null and (attempts >= ${maxAttempts}
       or kind = 'raised' and exists (select from ops.alert where alert.alert_id = message.alert_id and resolved_at is not null))`,
    [target, recipient],
  )
}
