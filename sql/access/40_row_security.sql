-- Row-level security of every table that a mart reads, also through other views, and that has a rooftop_id or group_id, or is of a batch. A policy
-- applies to the owner of the view: `true` costs nothing, and the rooftops of a tenant are read once per table and query.
with source as (
  select distinct m.source_oid as oid, format('%I.%I', m.source_schema, m.source_name) as name,
    (select max(a.attname) from pg_attribute as a
     where a.attrelid = m.source_oid and a.attname in ('rooftop_id', 'group_id') and not a.attisdropped) as owner_column
  from ops.mart_source as m
  where m.source_kind in ('r', 'p')
), console (name, condition, pattern) as (
  -- What a stock person reads besides the marts. Rows without a rooftop are seen with the import, batch or unit that they belong to.
  select name, 'rooftop_id = any ((select ops.visible_rooftops(current_user))::int[])', '(rooftop_id = ANY (( SELECT ops.visible_rooftops(CURRENT_USER)%'
  from (values ('ops.stock_upload'), ('ops.stock_mapping'), ('core.stock_import'), ('core.stock_unit_change'), ('core.stock_unit'),
    ('core.stock_price_observation'), ('ops.price_batch'), ('ops.data_quality')) as own (name)
  union all
  values ('core.stock_import_row', 'import_id in (select i.import_id from core.stock_import as i)', '(import_id IN ( SELECT i.import_id%FROM core.stock_import i))'),
    ('ops.price_batch_unit', 'batch_no in (select b.batch_no from ops.price_batch as b)', '(batch_no IN ( SELECT b.batch_no%FROM ops.price_batch b))'),
    ('core.vehicle_decode', 'vin in (select u.vin from core.stock_unit as u)', '%vin% IN ( SELECT%u.vin%FROM core.stock_unit u))')
), policy (policy_name, command, roles, condition) as (
  values ('bi_all', 'r', array['mart_owner', 'mart_pii_owner'], 'true'),
    ('bi_scoped', 'r', array['mart_scoped_owner'], null),
    ('forecourt_writer', '*', array['forecourt_writer'], 'true')
), wanted as (
  select console.name::regclass::oid as oid, console.name, 'forecourt_console' as policy_name, 'r' as command, array['forecourt_console'] as roles,
    console.condition, console.pattern
  from console
  union
  select console.name::regclass::oid, console.name, 'forecourt_writer', '*', array['forecourt_writer'], 'true', 'true' from console
  union
  select source.oid, source.name, policy.policy_name, policy.command, policy.roles,
    coalesce(policy.condition, case
      when owner_column = 'rooftop_id' then 'rooftop_id = any ((select ops.visible_rooftops(current_user))::int[])'
      -- Who sees one rooftop of a group sees the name of the group, too. The policy of core.rooftop applies to the subquery.
      when name = 'core.rooftop_group' then 'group_id in (select r.group_id from core.rooftop as r)'
      -- The policy of ops.price_batch applies to the subquery.
      when name = 'ops.price_batch_unit' then 'batch_no in (select b.batch_no from ops.price_batch as b)'
      else 'group_id = any ((select ops.visible_groups(current_user))::int[])' end) as condition,
    coalesce(policy.condition, case
      when owner_column = 'rooftop_id' then '(rooftop_id = ANY (( SELECT ops.visible_rooftops(CURRENT_USER)%'
      when name = 'core.rooftop_group' then '(group_id IN ( SELECT r.group_id%FROM core.rooftop r))'
      when name = 'ops.price_batch_unit' then '(batch_no IN ( SELECT b.batch_no%FROM ops.price_batch b))'
      else '(group_id = ANY (( SELECT ops.visible_groups(CURRENT_USER)%' end) as pattern
  from source cross join policy
  where owner_column is not null or name = 'ops.price_batch_unit'
), existing as (
  select p.polrelid, p.polname, p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid) as condition, pg_get_expr(p.polwithcheck, p.polrelid) as allowed,
    (select array_agg(r.rolname::text order by r.rolname) from pg_roles as r where r.oid = any (p.polroles)) as roles
  from pg_policy as p
), fault as (
  select wanted.*, existing.polname is not null as is_there
  from wanted
  left join existing on existing.polrelid = wanted.oid and existing.polname = wanted.policy_name
  where (existing.polname is not null and existing.polpermissive and existing.polcmd::text = wanted.command and existing.roles = wanted.roles
    and existing.condition like wanted.pattern
    and existing.allowed is not distinct from case wanted.command when '*' then 'true' end) is not true
), step as (
  select c.oid, wanted.name, case when c.relrowsecurity then '' else format('alter table %s enable row level security; ', wanted.name) end
    || coalesce(string_agg(
      case when fault.is_there then format('drop policy %I on %s; ', fault.policy_name, wanted.name) else '' end
      || format('create policy %I on %s for %s to %s using (%s)', fault.policy_name, wanted.name,
        case fault.command when 'r' then 'select' else 'all' end, array_to_string(fault.roles, ', '), fault.condition)
      || case fault.command when '*' then ' with check (true)' else '' end, '; ' order by fault.policy_name) filter (where fault.policy_name is not null), '') as statement
  from (select distinct oid, name from wanted) as wanted
  join pg_class as c on c.oid = wanted.oid
  left join fault on fault.oid = wanted.oid
  group by c.oid, c.relrowsecurity, wanted.name
)
select 'rows of ' || name || ' are seen by dealer group' as what, statement, true as may
from step where statement <> '' order by name
