-- Drop folders for stock lists: what was taken from them, and what became of it. A file has left the folder before it is read, so
-- no row here means that it is still there.
create table ops.stock_inbox (
  inbox varchar(1200) primary key,
  known_since timestamptz not null default now(),
  checked_at timestamptz,
  arrived_at timestamptz,
  problem varchar(1000),
  problem_since timestamptz
);
comment on table ops.stock_inbox is 'One row per drop folder and pattern of the config (stock.inbox) that was ever watched.';
comment on column ops.stock_inbox.inbox is 'Folder and pattern';
comment on column ops.stock_inbox.checked_at is 'When a process last read the folder, to about a minute';
comment on column ops.stock_inbox.arrived_at is 'When the newest list came that was read to its end, imported or not';
comment on column ops.stock_inbox.problem is 'Why the folder cannot be used; null: it can';

create table ops.stock_inbox_file (
  file_id bigint generated always as identity primary key,
  inbox varchar(1200) not null references ops.stock_inbox,
  folder_id uuid not null,
  name_bytes bytea not null,
  file_name varchar(300) not null,
  state varchar(10) not null default 'waiting' check (state in ('waiting', 'taken', 'decided', 'done', 'failed', 'gone')),
  byte_count bigint not null,
  modified_ns numeric(30) not null,
  seen_at timestamptz not null default now(),
  unchanged_since timestamptz not null default now(),
  taken_as varchar(300),
  taken_at timestamptz,
  attempts int not null default 0,
  reason text,
  ended_at timestamptz,
  cleared_at timestamptz,
  alert_key varchar(120)
);
create unique index stock_inbox_file_waiting on ops.stock_inbox_file (folder_id, name_bytes) where state = 'waiting';
create index stock_inbox_file_taken on ops.stock_inbox_file (folder_id, file_id) where state in ('taken', 'decided');
create index stock_inbox_file_open on ops.stock_inbox_file (inbox, file_id) where state in ('failed', 'gone') and cleared_at is null;
create index stock_inbox_file_ended on ops.stock_inbox_file (inbox, file_id);
comment on table ops.stock_inbox_file is 'Every file that was seen in a drop folder. Its row is written before it is moved, so that a killed process takes none twice and loses none.';
comment on column ops.stock_inbox_file.folder_id is 'The id in the file .forecourt-inbox of the folder: the same for all hosts';
comment on column ops.stock_inbox_file.file_name is 'The name as it is shown: bytes that are no text, and line ends, are escaped';
comment on column ops.stock_inbox_file.state is 'waiting: in the folder, perhaps not complete; taken: moved to working/; decided: imported or refused, not moved yet; done, failed: moved there; gone: it disappeared while it was read';
comment on column ops.stock_inbox_file.modified_ns is 'Modification time of the file in nanoseconds since 1970';
comment on column ops.stock_inbox_file.unchanged_since is 'Since when size and modification time are the same';
comment on column ops.stock_inbox_file.taken_as is 'Its name in working/, and then in done/ or failed/: never used twice';
comment on column ops.stock_inbox_file.attempts is 'How often a process began to read it without coming to an end';
comment on column ops.stock_inbox_file.reason is 'Why the whole file failed, whatever the rooftop';
comment on column ops.stock_inbox_file.cleared_at is 'When a failed file was removed from failed/, so that no one is waiting for it';

create table ops.stock_inbox_part (
  file_id bigint not null references ops.stock_inbox_file on delete cascade,
  rooftop_id int not null references core.rooftop,
  sha256 bytea not null check (length(sha256) = 32),
  outcome varchar(20) not null check (outcome in ('imported', 'already-imported', 'refused')),
  import_id bigint,
  reason text,
  command text,
  decided_at timestamptz not null default now(),
  primary key (file_id, rooftop_id)
);
comment on table ops.stock_inbox_part is 'What became of a file for each of its rooftops, written in the transaction of the import.';
comment on column ops.stock_inbox_part.import_id is 'The import, or the earlier one with the same content';
comment on column ops.stock_inbox_part.command is 'What imports it after all, for a person who has read the reason; null: the file has to be exported again';
