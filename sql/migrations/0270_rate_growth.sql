-- The allowed rate is now a curve: after a cut it starts at `rate`, is back at `learnt_from` within seconds, and then grows further.
-- It follows from the time since the cut, so no process has to store a raised rate.
alter table ops.rate_budget drop column raised_at;
comment on column ops.rate_budget.rate is 'Requests a second right after the last cut; the allowed rate grows from there by the time since. Null: no cut yet';
comment on column ops.rate_budget.learnt_from is 'Requests a second that the source answered before the last cut: there the curve flattens before it grows further';
comment on column ops.rate_budget.strikes is 'Cuts with less than a minute between them. Blocks for which the source gave no length get longer with it';
comment on column ops.rate_budget.throttled_at is 'When the rate was last cut';

-- Rates from the old rule mean little in the new one.
update ops.rate_budget set rate = null, learnt_from = null;

alter table ops.rate_member drop column peak;
alter table ops.rate_member add column clean_per_second int not null default 0;
comment on column ops.rate_member.clean_per_second is 'Answers to this process in the last second that were not throttled';
