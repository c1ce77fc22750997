-- PPSR and Car History checks of vehicles, the status of their watches, and the signed links to their PDFs.

alter table ops.enrichment_state add column ask varchar(40) not null default 'pricingAi';
alter table ops.enrichment_state alter column ask drop default;
alter table ops.enrichment_state drop constraint enrichment_state_pkey;
alter table ops.enrichment_state add primary key (rooftop_id, stream, eval_id, ask);
comment on column ops.enrichment_state.ask is 'The operation that is called, e.g. getpastppsrsearch. A stream may call several operations for one evaluation, each on its own schedule';

alter table ops.run_stream add column saved int not null default 0;
comment on column ops.run_stream.saved is 'Calls that were not needed: asking about every evaluation in every run would have taken this many more requests';

-- The vehicle of an evaluation within its dealer group: a check covers all evaluations of the vehicle.
drop index core.evaluation_vin;
create index evaluation_vehicle on core.evaluation (group_id, upper(vin)) where length(vin) = 17;

-- The permalink of a photo holds only the photo id.
create index photo_id on core.photo (photo_id);

create table core.ref_watch_status (
  watch_status varchar(40) primary key,
  noteworthiness smallint not null,
  is_terminal boolean not null,
  is_known boolean not null
);
comment on table core.ref_watch_status is 'Statuses of a PPSR watch [A §3]. A status that the document does not name is added when it is first received, with is_known = false.';
comment on column core.ref_watch_status.noteworthiness is '1 is the most noteworthy; 0: a status that the document does not name, which comes before all others';
comment on column core.ref_watch_status.is_terminal is 'Never changes again, and is never polled again';
insert into core.ref_watch_status (watch_status, noteworthiness, is_terminal, is_known) values
  ('changed', 1, true, true),
  ('expired', 2, true, true),
  ('watching', 3, false, true),
  ('unchanged', 4, false, true),
  ('disabled', 5, false, true),
  ('not_watched', 6, false, true);

create table core.vehicle_check (
  rooftop_id int not null,
  eval_id bigint not null,
  check_kind varchar(12) not null check (check_kind in ('ppsr', 'car_history')),
  check_ref varchar(80) not null,
  group_id int not null references core.rooftop_group,
  vin varchar(40) not null,
  searched_at timestamptz,
  search_number varchar(80),
  certificate_number varchar(80),
  security_interest_count int,
  written_off_count int,
  stolen_count int,
  watch_status varchar(40) references core.ref_watch_status,
  watch_status_since timestamptz,
  watch_ends_at timestamptz,
  first_seen_at timestamptz not null,
  gone_at timestamptz,
  run_id bigint,
  primary key (rooftop_id, eval_id, check_kind, check_ref),
  constraint vehicle_check_once_in_group unique (group_id, check_kind, check_ref)
);
create index vehicle_check_vin on core.vehicle_check (group_id, vin);
comment on table core.vehicle_check is 'One row per real PPSR search or Car History report, even where several evaluations of the dealer group list it. Times are by the clock of the source.';
comment on column core.vehicle_check.eval_id is 'The latest evaluation of the vehicle in the dealer group that existed when the check was made';
comment on column core.vehicle_check.check_ref is 'The id that the source gives (wire.appraisal.pastCheck.id), else another value that identifies the check';
comment on column core.vehicle_check.security_interest_count is 'Known only for searches made by "forecourt api ppsrsearch"; null: unknown';
comment on column core.vehicle_check.watch_status is 'Status last reported; null: never reported. For a Car History report: the status of the certificate that came with it';
comment on column core.vehicle_check.watch_status_since is 'Source time of the first answer with this status';
comment on column core.vehicle_check.watch_ends_at is '14 days after the search [A §8]; null for a Car History report';
comment on column core.vehicle_check.gone_at is 'Source time of the first answer that no longer listed the check; null: it is listed';
comment on column core.vehicle_check.run_id is 'The run or the paid call that loaded it; null: loaded by a permalink, or by a call whose answer was lost';

create table core.watch_status_change (
  rooftop_id int not null,
  eval_id bigint not null,
  check_kind varchar(12) not null,
  check_ref varchar(80) not null,
  observed_at timestamptz not null,
  from_status varchar(40),
  to_status varchar(40) not null references core.ref_watch_status,
  primary key (rooftop_id, eval_id, check_kind, check_ref, observed_at),
  foreign key (rooftop_id, eval_id, check_kind, check_ref) references core.vehicle_check
    on update cascade on delete cascade,
  check (from_status is distinct from to_status)
);
comment on table core.watch_status_change is 'Every status that was observed of a watch, including the first.';
comment on column core.watch_status_change.observed_at is 'Source time of the first answer with this status';
comment on column core.watch_status_change.from_status is 'null: this is the first status observed';

create table pii.signed_link (
  rooftop_id int not null,
  eval_id bigint not null,
  link_kind varchar(20) not null check (link_kind in ('ppsr_pdf', 'car_history_pdf')),
  link_ref varchar(80) not null,
  url text not null,
  signed_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (rooftop_id, eval_id, link_kind, link_ref),
  check (expires_at > signed_at)
);
create index signed_link_expiry on pii.signed_link (expires_at);
create index signed_link_ref on pii.signed_link (link_kind, link_ref);
comment on table pii.signed_link is 'The newest signed link to the PDF of each check. Whoever has the link can open the PDF, so dashboards use the permalink instead: GET /links/<link_kind>/<link_ref> of "forecourt serve".';
comment on column pii.signed_link.link_ref is 'check_ref of the check';
comment on column pii.signed_link.expires_at is 'Source time: a week after signed_at [A §8]';

create table pii.archived_pdf (
  rooftop_id int not null,
  eval_id bigint not null,
  link_kind varchar(20) not null check (link_kind in ('ppsr_pdf', 'car_history_pdf')),
  link_ref varchar(80) not null,
  sha256 bytea not null check (length(sha256) = 32),
  byte_count int not null,
  archived_at timestamptz not null default now(),
  primary key (rooftop_id, eval_id, link_kind, link_ref)
);
create index archived_pdf_ref on pii.archived_pdf (link_kind, link_ref);
comment on table pii.archived_pdf is 'The PDF in the archive (links.archive) of each check; the file name is its digest.';
