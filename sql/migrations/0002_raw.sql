-- Payloads as received. The type is json, not jsonb: it stores the exact text (\u0000, duplicate keys, key order) at a third of the cost.
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
comment on table raw.payload is 'Answers of the source; a new row only when the content changed. Only forecourt_writer may read it.';
comment on column raw.payload.content_hash is 'sha256 of the body without the query strings of its links, because each read returns new signatures';

-- \u0000 and lone surrogates are legal JSON, but the JSON operators of Postgres fail on them: one such body would fail a whole
-- query. Where an escaped backslash comes before the u, it is text and not an escape.
create function raw.readable(body json) returns json
language sql immutable parallel safe
as $$
  select case when body::text ~ '\\u(0000|[dD][89a-fA-F])' then
    regexp_replace(
      regexp_replace(
        regexp_replace(body::text, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g'),
        '(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
      '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)((?:\\\\)*)\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g')::json
  else body end
$$;
comment on function raw.readable(json) is 'The body with U+FFFD in place of what Postgres cannot read: NUL and lone surrogates.';

create view raw.payload_json as
select rooftop_id, endpoint, natural_key, fetched_at, content_hash, raw.readable(body) as body, run_id
from raw.payload;
comment on view raw.payload_json is 'raw.payload with a body that every JSON operator can read; raw.payload has the exact text.';
