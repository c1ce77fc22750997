-- What verify has compared. The certificates prove which records are stored; that the values of their rows follow from the payloads
-- takes the payloads themselves, so the nightly job "verify" compares a share of the records, and all within verify.withinNights.
create table ops.value_check (
  rooftop_id int not null references core.rooftop on delete cascade,
  stream varchar(40) not null,
  round_started_at timestamptz not null,
  round_records int not null,
  compared int not null default 0,
  last_key varchar(400) not null default '',
  compared_at timestamptz,
  full_since timestamptz,
  primary key (rooftop_id, stream)
);
comment on table ops.value_check is 'How far the values of the rows of a rooftop and stream were compared with the stored payloads, record by record in the order of their keys.';
comment on column ops.value_check.round_records is 'Records with payloads when the round began';
comment on column ops.value_check.last_key is 'The last record of the round that was compared; empty: none yet';
comment on column ops.value_check.full_since is 'Every record was compared at this time or later: the start of the last round that reached the end, or of "forecourt verify --rows"; null: none did';

create table ops.value_difference (
  rooftop_id int not null references core.rooftop on delete cascade,
  stream varchar(40) not null,
  record_key varchar(400) not null,
  compare_keys text[] not null,
  difference varchar(400) not null,
  found_at timestamptz not null default now(),
  primary key (rooftop_id, stream, record_key)
);
comment on table ops.value_difference is 'Records whose rows are not what their payloads make, until a replay, a sync or a later comparison finds them equal.';
comment on column ops.value_difference.compare_keys is 'The records to compare again: the record, or those that were compared together with it';
comment on column ops.value_difference.difference is 'The first row and its columns, without values';
