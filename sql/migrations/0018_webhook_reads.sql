-- Two counters for a webhook delivery: reads that failed, and reads that did not show the event yet. One counter for both ended a
-- delivery as processed by the first such read after an outage.
alter table ops.webhook_delivery add column not_shown int not null default 0;
comment on column ops.webhook_delivery.not_shown is 'Reads that were answered and did not show the event yet';
comment on column ops.webhook_delivery.attempts is 'Failed reads in a row';
