-- Alerts go to several receivers, so what was sent is a row for each message instead of columns of the alert.
create table ops.alert_message (
  message_id uuid primary key default gen_random_uuid(),
  target varchar(40) not null,
  recipient varchar(320) not null default '',
  kind varchar(8) not null check (kind in ('raised', 'resolved', 'digest')),
  alert_id bigint references ops.alert on delete cascade,
  day date,
  severity varchar(8) not null check (severity in ('critical', 'warning')),
  detail varchar(2000),
  made_at timestamptz not null default now(),
  attempts int not null default 0,
  tried_at timestamptz,
  retry_at timestamptz,
  paused_until timestamptz,
  sent_at timestamptz,
  error varchar(300),
  check ((kind = 'digest') = (alert_id is null)),
  check ((kind = 'digest') = (day is not null)),
  check ((kind = 'digest') = (detail is not null)),
  unique nulls not distinct (target, recipient, kind, alert_id, day)
);
create index alert_message_open on ops.alert_message (target, made_at) where sent_at is null;
create index alert_message_alert on ops.alert_message (alert_id);
comment on table ops.alert_message is 'One row per message to a receiver of the config (alerts): of a problem, of its end, or a digest.';
comment on column ops.alert_message.message_id is 'The Message-ID of an e-mail, and the header X-Forecourt-Message of a webhook: the same in every attempt';
comment on column ops.alert_message.target is 'alerts.targets[].name; default: alerts.url or alerts.to';
comment on column ops.alert_message.recipient is 'The address of an e-mail, so that one that is refused does not repeat the others; empty for a webhook';
comment on column ops.alert_message.day is 'The local day of a digest';
comment on column ops.alert_message.detail is 'The text of a digest; the other texts are in ops.alert';
comment on column ops.alert_message.attempts is 'Attempts to send it, counted before each; after the last it is shown by "forecourt status"';
comment on column ops.alert_message.retry_at is 'When the next attempt may begin, after a pause that grows';
comment on column ops.alert_message.paused_until is 'Until when the receiver asked to get nothing (Retry-After), for all its messages';
comment on column ops.alert_message.error is 'Why the last attempt failed, without the address';

insert into ops.alert_message (target, kind, alert_id, severity, made_at, attempts, sent_at)
select 'default', 'raised', alert_id,
  case when alert_key ~ '^(objective/(quarantine|gaps|unprovable|ledger)$|inbox/)' then 'warning' else 'critical' end,
  raised_at, 1, told_at
from ops.alert where told_at is not null and resolution_told_at is null;

alter table ops.alert drop column resolution_told_at, drop column attempts;
comment on table ops.alert is 'Problems that alerts report: one row from the failure to the recovery.';
comment on column ops.alert.alert_key is 'The cause: while an alert with this key is open, it is not raised again. <target>: before it: of the dealer groups of that receiver';
comment on column ops.alert.told_at is 'When a receiver first got it';
