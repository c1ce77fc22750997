-- A service may rename a field: its column stays empty from then on. Slices find that out from a sample of payloads; commands, alerts and the
-- console read what they found, and no payload.
create table ops.moved_field (
  rooftop_id int not null references core.rooftop on delete cascade,
  stream varchar(40) not null,
  setting varchar(120) not null,
  configured jsonb not null,
  paths text[] not null,
  evidence text not null,
  records bigint[] not null,
  found_at timestamptz not null default now(),
  run_id bigint not null,
  primary key (rooftop_id, stream, setting)
);
comment on table ops.moved_field is 'Settings of wire whose field newer records of a rooftop do not have, though most earlier ones had it. A row goes when a record has it again.';
comment on column ops.moved_field.configured is 'The value of the setting; the row counts while the config has it';
comment on column ops.moved_field.paths is 'Where the field probably is now; several: one of them; empty: not known';
comment on column ops.moved_field.evidence is 'Counts and rules, never a value';
comment on column ops.moved_field.records is 'Records that were read before and after; "wire learn --stored" reads them';
