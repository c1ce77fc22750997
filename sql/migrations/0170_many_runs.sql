-- Webhooks make a run each minute, and few runs are backfills: the queries for backfills and for recent deliveries read by index.
create index run_background on ops.run (run_id) where lane = 'background';
create index run_resumes on ops.run (resumes) where resumes is not null;
create index run_event_ended on ops.run (finished_at) where lane = 'event';
create index on ops.webhook_delivery (received_at);
create index webhook_delivery_body on ops.webhook_delivery (received_at) where body is not null;
