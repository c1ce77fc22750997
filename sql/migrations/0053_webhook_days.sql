-- Deliveries were never deleted, because missed ones are counted by them, and mart.webhook_latency read them all. Retention now stores the
-- counts of old days here and deletes their deliveries.
create table ops.webhook_day (
  rooftop_id int not null references core.rooftop,
  webhook_date date not null,
  deliveries int not null,
  duplicates int not null,
  processed int not null,
  kept int not null,
  waiting int not null,
  unusable int not null,
  failed int not null,
  expected int not null,
  missed int not null,
  arrival_p50_seconds numeric(12,2),
  arrival_p95_seconds numeric(12,2),
  loading_p50_seconds numeric(12,2),
  loading_p95_seconds numeric(12,2),
  primary key (webhook_date, rooftop_id)
);
comment on table ops.webhook_day is 'Rows of mart.webhook_latency of days before retention.ledgerDays, as they were counted when they became that old. None is counted again.';
comment on column ops.webhook_day.webhook_date is 'Day in the time zone of the rooftop';
comment on column ops.webhook_day.arrival_p50_seconds is 'This column and those below: as in mart.webhook_latency';

-- A table without rooftops: a login may see some rows of the one above only, and the last day of all would be another one.
create table ops.webhook_settled (
  last_date date not null
);
create unique index webhook_settled_one on ops.webhook_settled ((true));
insert into ops.webhook_settled values ('-infinity');
comment on table ops.webhook_settled is 'The last day whose counts are in ops.webhook_day: the deliveries up to it are deleted';
