-- The morning page groups the newest 10,000 records by their cause. Its patterns took two thirds of that statement.
alter table ops.quarantine add column cause varchar(12) generated always as (ops.issue_cause(issues)) stored;
comment on column ops.quarantine.cause is 'The same for records that do not fit for the same reason: ops.issue_cause of its issues';
drop index ops.quarantine_cause;
create index quarantine_cause on ops.quarantine (cause, quarantine_id) where resolved_at is null;
