-- Askings whose answer could not be read or never came are asked again in every run, however old their evaluation: found by an
-- index of their own, since they are few among all that was ever asked.

create index enrichment_failed on ops.enrichment_state (rooftop_id, stream, eval_id) where failures > 0;

comment on column ops.enrichment_state.failures is 'Askings without an answer that could be read, in a row';
comment on column ops.enrichment_state.outcome is 'Of the last asking. skipped: the source does not know or not price it; rejected: its answer could not be read, is in quarantine and asked for again in the next run; failed: no answer';
