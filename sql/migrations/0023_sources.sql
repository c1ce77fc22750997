-- A run belongs to the services that its config names: a worker with another config, such as that of a demo, would read the same
-- rooftops from another service. Each pair of services has a work queue of its own, named by source_id.
create table ops.source (
  source_id int generated always as identity primary key,
  appraisal_url varchar(2000) not null,
  vehicle_data_url varchar(2000) not null,
  is_sandbox boolean not null,
  first_used_at timestamptz not null default now(),
  unique (appraisal_url, vehicle_data_url)
);
comment on table ops.source is 'The pairs of services that runs have read.';
comment on column ops.source.appraisal_url is 'appraisal.baseUrl, normalised: host in lower case, no slash at the end, no password';
comment on column ops.source.vehicle_data_url is 'vehicleData.baseUrl, normalised alike';
comment on column ops.source.is_sandbox is 'The sandbox of "forecourt demo", which ends with its process';

alter table ops.run add column source_id int references ops.source;
comment on column ops.run.source_id is 'The services that it reads. null: a run of an earlier version, whose work any process takes';

alter table ops.webhook_delivery add column source_id int references ops.source;
alter table ops.webhook_delivery drop constraint webhook_delivery_event_eval_id_body_hash_key;
alter table ops.webhook_delivery add unique nulls not distinct (event, eval_id, body_hash, source_id);
comment on column ops.webhook_delivery.source_id is 'The services of the receiver that it arrived at: only a process with the same ones reads it. null: any';
