-- The law of the rate is one function of the program (src/sources/rate-law.ts): a row holds its state as a whole.
alter table ops.rate_budget drop column learnt_from, drop column generation, drop column strikes;
alter table ops.rate_budget add column state jsonb not null default '{}';
update ops.rate_budget set rate = null, throttled_at = null;
alter table ops.rate_member drop column clean_per_second;
comment on column ops.rate_budget.state is 'The state of the law in src/sources/rate-law.ts; times in ms since 1970. {}: no limit is known';
comment on column ops.rate_budget.rate is 'Requests a second right after the last cut; the allowed rate grows from there by the time since. Null: no limit is known';
comment on column ops.rate_budget.blocked_until is 'No process sends before this time; set by Retry-After, at most a day ahead. To try sooner, set it to null and restart the processes';
