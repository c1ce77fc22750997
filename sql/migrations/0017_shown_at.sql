-- Whether the answer of a paid call was shown decides whether a repeat is paid for: it is a column, where it was the start of a note.
alter table ops.billable_call add column shown_at timestamptz;
comment on column ops.billable_call.shown_at is 'When the answer of the call, or its check, was first shown to who requested it; null: not yet, so that a repeat shows it and pays nothing';

update ops.billable_call
set shown_at = coalesce(settled_at, at)
where state = 'committed'
  and not coalesce(starts_with(note, 'Found among the past checks by a later call: it was billed.'), false);
