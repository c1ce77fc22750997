-- Who gets a message and when is the work of what receives it: no digests, quiet hours and receivers of dealer groups.
delete from ops.alert_message where kind = 'digest';
delete from ops.alert where alert_key ~ '^[a-z0-9-]+:';
alter table ops.alert_message drop constraint alert_message_check, drop column day, drop column detail, alter column alert_id set not null;
alter table ops.alert_message drop constraint alert_message_kind_check, add check (kind in ('raised', 'resolved'));
alter table ops.alert_message add unique (target, recipient, kind, alert_id);
comment on table ops.alert_message is 'One row per message to a receiver of the config (alerts): of a problem, or of its end.';
comment on column ops.alert.alert_key is 'The cause: while an alert with this key is open, it is not raised again.';
