-- What shows, after a crash or a lost connection, whether a billable call took effect.
alter table ops.billable_call add column check_ref varchar(80);
alter table ops.billable_call add column known_refs varchar(80)[];
alter table ops.billable_call add column source_at timestamptz;
create index on ops.billable_call (rooftop_id, call_id) where state = 'reserved';
comment on column ops.billable_call.check_ref is 'check_ref of the check that the call made, from its answer or from the past checks';
comment on column ops.billable_call.known_refs is 'Past checks that existed just before the call was sent; null: not read, or the operation makes none';
comment on column ops.billable_call.source_at is 'Source time when known_refs was read';
