-- Payloads as received. json, not jsonb: it keeps the text verbatim (\u0000, duplicate keys, key order) at a third of the cost.
create schema raw;

create table raw.payload (
  rooftop_id int not null,
  endpoint varchar(40) not null,
  natural_key varchar(80) not null,
  fetched_at timestamptz not null,
  content_hash bytea not null,
  body json not null,
  run_id bigint not null,
  primary key (rooftop_id, endpoint, natural_key, fetched_at)
);
comment on table raw.payload is 'Answers of the source, a row only when the content changed. Readable by the writer alone.';
comment on column raw.payload.content_hash is 'sha256 of the body without the query strings of its links, which are signed anew at every read';

create view raw.payload_json as
select rooftop_id, endpoint, natural_key, fetched_at, content_hash, body, run_id
from raw.payload;
comment on view raw.payload_json is 'raw.payload with the body as json, however it is stored.';
