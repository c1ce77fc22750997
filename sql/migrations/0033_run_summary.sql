-- What a run did for each rooftop is deleted after retention.runDays. The run keeps its sums, so that no page shows zeros instead.
alter table ops.run add column summary jsonb;
comment on column ops.run.summary is 'What is left of the rows of ops.run_stream once retention has deleted them: { streams, rooftops, errors, firstError }; null: the rows are there';
create index run_without_summary on ops.run (finished_at) where summary is null and status <> 'running';
drop index ops.run_event_ended;
