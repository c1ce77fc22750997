-- Requests whose answer could not be read or never came are sent again in every run, however old the evaluation is. They are few
-- among all requests, so they have an index of their own.

create index enrichment_failed on ops.enrichment_state (rooftop_id, stream, eval_id) where failures > 0;

comment on column ops.enrichment_state.failures is 'Requests in a row that got no readable answer';
comment on column ops.enrichment_state.outcome is 'Outcome of the last request. skipped: the source does not know or does not price the evaluation; rejected: the answer could not be read, is in quarantine and is requested again in the next run; failed: no answer';
