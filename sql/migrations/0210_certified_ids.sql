-- A certificate names each record that it listed and the rooftop that owns it, so that `verify` can compare it exactly with the
-- tables. A certificate whose counts do not add up can be stored, so that `verify` finds it.
alter table ops.window_certificate drop constraint window_certificate_check1;
alter table ops.window_certificate add column malformed int not null default 0;
comment on column ops.window_certificate.malformed is 'List items without a usable id; also counted in quarantined';

create table ops.certified_ids (
  rooftop_id int not null,
  stream varchar(40) not null,
  window_from timestamptz not null,
  owner_id int not null,
  outcome varchar(12) not null check (outcome in ('loaded', 'outdated', 'quarantined', 'vanished')),
  ids bigint[] not null,
  primary key (rooftop_id, stream, window_from, owner_id, outcome)
);
create index certified_ids_owner on ops.certified_ids (owner_id, stream);
comment on table ops.certified_ids is 'The ids that the certificate of a window listed, sorted, by owning rooftop and outcome. Written only when they change.';
comment on column ops.certified_ids.outcome is 'loaded: in the tables; outdated: in the tables, but the newest read is in quarantine; quarantined and vanished: not in the tables';

create table ops.unlisted_record (
  rooftop_id int not null,
  stream varchar(40) not null,
  record_id bigint not null,
  entry_at timestamptz not null,
  primary key (rooftop_id, stream, record_id)
);
comment on table ops.unlisted_record is 'Records that were stored or moved outside of the list of their window: by a webhook, a retry, or the list of another window. The next certificate that lists the record deletes its row here.';

-- Earlier certificates have only a digest. Where the rows have the same digest, they are the listed records; the other windows are
-- listed again.
with expected as (
  select c.rooftop_id, c.stream, c.window_from, c.ids_digest, scope, e.rooftop_id as owner_id, e.eval_id
  from ops.window_certificate as c
  join core.rooftop as lister using (rooftop_id)
  cross join (values ('rooftop'), ('group')) as s (scope)
  join core.evaluation as e on e.group_id = lister.group_id and (scope = 'group' or e.rooftop_id = c.rooftop_id)
    and e.entry_at >= c.window_from
    and e.entry_at < c.window_until + case when c.listed_at - c.window_until < interval '1 s' then interval '1 s' else interval '0' end
    and (e.gone_at is null or e.gone_at > c.listed_at)
  where c.stream = 'evaluations' and c.listed = c.loaded
), matching as (
  select rooftop_id, stream, window_from, min(scope) as scope from (
    select rooftop_id, stream, window_from, scope from expected group by rooftop_id, stream, window_from, scope, ids_digest
    having sha256(string_agg(eval_id::text, ',' order by eval_id)::bytea) = ids_digest
  ) as equal group by 1, 2, 3
)
insert into ops.certified_ids (rooftop_id, stream, window_from, owner_id, outcome, ids)
select rooftop_id, stream, window_from, owner_id, 'loaded', array_agg(eval_id order by eval_id)
from expected join matching using (rooftop_id, stream, window_from, scope)
group by 1, 2, 3, 4;

update ops.coverage as stored set covered = covered - unknown.spans
from (
  select rooftop_id, stream, range_agg(tstzrange(window_from, window_until)) as spans
  from ops.window_certificate as c
  where listed > 0 and not exists (
    select from ops.certified_ids as known
    where (known.rooftop_id, known.stream, known.window_from) = (c.rooftop_id, c.stream, c.window_from)
  )
  group by 1, 2
) as unknown
where (stored.rooftop_id, stored.stream) = (unknown.rooftop_id, unknown.stream);
