-- A learnt rate is now a curve: it starts at `rate` after a cut, is back at `learnt_from` within seconds, and then grows beyond.
-- No step is stored, so nothing has to raise it.
alter table ops.rate_budget drop column raised_at;
comment on column ops.rate_budget.rate is 'Requests a second right after the last cut; the allowed rate grows from there by the time since. Null: no cut yet';
comment on column ops.rate_budget.learnt_from is 'Requests a second that the source answered before the last cut: the curve flattens there before it goes beyond';
comment on column ops.rate_budget.strikes is 'Cuts with less than a minute between them; the blocks to which the source gave no length grow with it';
comment on column ops.rate_budget.throttled_at is 'When the rate was cut last';

-- What a rate was learnt by the old rule says little.
update ops.rate_budget set rate = null, learnt_from = null;

alter table ops.rate_member drop column peak;
alter table ops.rate_member add column clean_per_second int not null default 0;
comment on column ops.rate_member.clean_per_second is 'Clean answers to this process in the last second';
