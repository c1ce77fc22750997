-- The comment named the path of a file, which has moved.
comment on column ops.rate_budget.state is 'The state of the law that is written in rate-law.ts; times in ms since 1970. {}: no limit is known';
