-- Access: the logins that "forecourt grant" made, their dealer groups, and the tables that the marts read. Roles belong to the
-- cluster, not to this database: sql/access has the statements with which grant changes them.
create schema core_scoped;
comment on schema core_scoped is 'Copies of the views of core that mart_scoped reads, rebuilt with the marts. Row-level security checks the owner of a view, so the marts of a tenant cannot read through views of the warehouse owner.';

create table ops.bi_login (
  role_name varchar(63) primary key,
  member_of varchar(63) not null,
  granted_at timestamptz not null default now()
);
comment on table ops.bi_login is 'Login roles that "forecourt grant" made for this warehouse. When the config no longer names a login, this distinguishes it from the logins of another warehouse in the cluster.';
comment on column ops.bi_login.member_of is 'forecourt_writer, bi_reader, bi_tenant or bi_pii_reader';

create table ops.bi_access (
  role_name varchar(63) not null,
  group_code varchar(130) not null,
  primary key (role_name, group_code)
);
comment on table ops.bi_access is 'The dealer groups of each role in bi_tenant, written by "forecourt grant" from access.logins of the config. No BI role may read it.';
comment on column ops.bi_access.group_code is 'core.rooftop_group.group_code; a group that no sync has loaded yet shows nothing';

-- The second pg_has_role prevents a caller from asking about other roles. Roles are compared by oid: a row of a dropped role must
-- not fail the queries of every tenant.
create function ops.visible_groups(who name) returns int[]
language sql stable security definer parallel safe set search_path = '' as $$
  select coalesce(array_agg(distinct g.group_id), '{}')
  from ops.bi_access as a
  join pg_catalog.pg_roles as granted on granted.rolname = a.role_name
  join pg_catalog.pg_roles as asked on asked.rolname = who
  join core.rooftop_group as g on g.group_code = a.group_code
  where pg_catalog.pg_has_role(asked.oid, granted.oid, 'member') and pg_catalog.pg_has_role(session_user, asked.oid, 'member')
$$;
comment on function ops.visible_groups(name) is 'Dealer groups that the role sees in mart_scoped; none when the user of the session is not a member of the role.';

create function ops.visible_rooftops(who name) returns int[]
language sql stable security definer parallel safe set search_path = '' as $$
  select coalesce(array_agg(r.rooftop_id), '{}') from core.rooftop as r where r.group_id = any ((select ops.visible_groups(who))::int[])
$$;
comment on function ops.visible_rooftops(name) is 'Rooftops that the role sees in mart_scoped; none when the user of the session is not a member of the role.';

revoke execute on function ops.visible_groups(name), ops.visible_rooftops(name) from public;

create view ops.mart_source as
with recursive step as (
  select distinct v.oid as view_oid, v.relnamespace as view_schema, d.refobjid as source_oid
  from pg_class as v
  join pg_rewrite as w on w.ev_class = v.oid
  join pg_depend as d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
  where v.relkind = 'v'
), reached as (
  select view_schema as reader, source_oid, true as is_direct from step
  where view_schema = any (array['mart', 'mart_scoped', 'mart_pii', 'core_scoped']::regnamespace[]::oid[])
  union
  select reached.reader, step.source_oid, false from reached join step on step.view_oid = reached.source_oid
)
select n.nspname as reader, s.nspname as source_schema, c.relname as source_name, c.oid as source_oid, c.relkind as source_kind,
  bool_or(reached.is_direct) as is_direct
from reached
join pg_namespace as n on n.oid = reached.reader
join pg_class as c on c.oid = reached.source_oid
join pg_namespace as s on s.oid = c.relnamespace
group by 1, 2, 3, 4, 5;
comment on view ops.mart_source is 'Tables and views that each mart schema (reader) reads, directly (is_direct) or through other views. Grants and row-level security follow from it, so that a new mart is covered.';

-- One statement drops all: then the order does not matter where views read one another.
create or replace function ops.drop_marts() returns void language plpgsql as $$
declare
  views text;
begin
  select string_agg(format('%I.%I', n.nspname, c.relname), ', ') into views
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname in ('mart', 'mart_scoped', 'mart_pii', 'core_scoped') and c.relkind = 'v';
  if views is not null then
    execute 'drop view ' || views;
  end if;
end
$$;
comment on function ops.drop_marts() is 'Drops the views of all mart schemas. A migration that changes a column of theirs calls it first; migrate builds them again at its end.';

-- Under row-level security an index is used only for leak-proof conditions. upper() is not leak-proof; a comparison of a column is.
alter table core.evaluation add column vehicle_vin varchar(17) generated always as (case when length(vin) = 17 then upper(vin) end) stored;
comment on column core.evaluation.vehicle_vin is 'VIN in capitals; null unless it has 17 characters';
create index evaluation_vehicle_vin on core.evaluation (group_id, vehicle_vin) where vehicle_vin is not null;

-- The view returns the same rows as before.
create or replace view core.stock_outcome as
select
  unit.rooftop_id, unit.stock_no, seen.rooftop_id as eval_rooftop_id, seen.eval_id,
  coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date) as acquired_on,
  (case when seen.rooftop_id = unit.rooftop_id then 'vin_same_rooftop' else 'vin_same_group' end)::varchar(20) as match_rule
from core.stock_unit as unit
join core.rooftop as rooftop using (rooftop_id)
cross join lateral (
  select e.rooftop_id, e.eval_id
  from core.evaluation as e
  where e.group_id = rooftop.group_id and e.vehicle_vin = unit.vin and e.gone_at is null
    and e.completed_date_local <= coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date)
  order by e.rooftop_id = unit.rooftop_id desc, e.completed_at desc, e.eval_id desc
  limit 1
) as seen;
