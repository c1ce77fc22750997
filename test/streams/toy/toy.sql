-- The tables of the toy stream: an inspection, and the faults that it found.
create table core.inspection (
  rooftop_id int not null references core.rooftop,
  inspection_id bigint not null,
  group_id int not null,
  inspector varchar(80) not null,
  entry_at timestamptz not null,
  created_at timestamptz not null,
  source_updated_at timestamptz not null,
  gone_at timestamptz,
  content_hash bytea not null,
  run_id bigint not null,
  primary key (rooftop_id, inspection_id)
);

create table core.inspection_fault (
  rooftop_id int not null,
  inspection_id bigint not null,
  line_no int not null,
  fault varchar(40) not null,
  primary key (rooftop_id, inspection_id, line_no)
);
