-- What tells, after a crash or a cut connection, whether a billable call took effect.
alter table ops.billable_call add column check_ref varchar(80);
alter table ops.billable_call add column known_refs varchar(80)[];
alter table ops.billable_call add column source_at timestamptz;
create index on ops.billable_call (rooftop_id, call_id) where state = 'reserved';
comment on column ops.billable_call.check_ref is 'check_ref of the check that the call made, as its answer or the past checks name it';
comment on column ops.billable_call.known_refs is 'Past checks that were there just before it was sent; null: not read, or the operation leaves none';
comment on column ops.billable_call.source_at is 'The source''s time when they were read';
