-- Compares the privileges that our roles should have on the objects of this database with those that they have: grants what is
-- missing, revokes the rest. Views of the marts read with the rights of their owners, who may read only the tables that the views name.
with role (role_name) as (
  values ('forecourt_writer'), ('bi_reader'), ('bi_tenant'), ('bi_pii_reader'), ('forecourt_console'), ('mart_owner'), ('mart_scoped_owner'), ('mart_pii_owner')
), mart (schema_name, owner_role) as (
  values ('mart', 'mart_owner'), ('mart_scoped', 'mart_scoped_owner'), ('core_scoped', 'mart_scoped_owner'), ('mart_pii', 'mart_pii_owner')
), reader (schema_name, role_name) as (
  values ('mart', 'bi_reader'), ('mart_scoped', 'bi_tenant'), ('mart', 'bi_pii_reader'), ('mart_pii', 'bi_pii_reader'), ('mart', 'forecourt_writer')
), loaded (schema_name) as (
  values ('core'), ('ops'), ('pii'), ('raw'), ('pgboss')
), read_only (schema_name, table_name) as (
  -- Only migrate and grant write to these.
  values ('ops', 'schema_migration'), ('ops', 'mart_version'), ('ops', 'bi_login'), ('ops', 'bi_access')
), console (schema_name, table_name) as (
  -- What a stock person reads and downloads besides the marts: row-level security limits it to the rooftops of the person, too.
  values ('ops', 'stock_upload'), ('ops', 'stock_mapping'), ('core', 'stock_import'), ('core', 'stock_import_row'), ('core', 'stock_unit_change'),
    ('core', 'stock_unit'), ('core', 'stock_price_observation'), ('core', 'stock_evaluation'), ('core', 'stock_market_price'), ('core', 'vehicle_decode'),
    ('ops', 'price_batch'), ('ops', 'price_batch_unit'), ('ops', 'data_quality')
), relation as (
  select c.oid, n.nspname as schema_name, c.relname, c.relkind, c.relowner, c.relacl, format('%I.%I', n.nspname, c.relname) as name
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname in (select schema_name from loaded union all select schema_name from mart) and c.relkind in ('r', 'p', 'v', 'S')
), wanted (kind, name, role_name, privilege) as (
  select 'schema', schema_name, role_name, 'USAGE' from reader
  union all
  select 'schema', schema_name, 'forecourt_writer', 'USAGE' from loaded join pg_namespace as n on n.nspname = schema_name
  union all
  select 'schema', schema_name, owner_role, 'CREATE' from mart
  union all
  select 'table', relation.name, reader.role_name, 'SELECT' from reader join relation using (schema_name) where relkind = 'v'
  union all
  select case relkind when 'S' then 'sequence' else 'table' end, relation.name, 'forecourt_writer', privilege
  from loaded
  join relation using (schema_name)
  cross join unnest(case
    when relkind = 'S' then array['USAGE', 'SELECT']
    when relkind = 'v' or (schema_name, relname) in (select schema_name, table_name from read_only) then array['SELECT']
    else array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] end) as privilege
  union all
  select distinct 'schema', schema_name, 'forecourt_console', 'USAGE' from console
  union all
  select 'table', relation.name, 'forecourt_console', 'SELECT' from console join relation on relname = table_name and relation.schema_name = console.schema_name
  union all
  select distinct 'table', relation.name, mart.owner_role, 'SELECT'
  from ops.mart_source as m
  join mart on mart.schema_name = m.reader
  join relation on relation.oid = m.source_oid
  where m.is_direct and not exists (select from mart as own where own.schema_name = m.source_schema and own.owner_role = mart.owner_role)
  union all
  select 'function', function_name, 'bi_tenant', 'EXECUTE'
  from (values ('ops.visible_groups(name)'), ('ops.visible_rooftops(name)')) as f (function_name)
  union all
  select 'function', 'ops.refresh_statistics()', 'forecourt_writer', 'EXECUTE'
), granted (kind, name, role_name, privilege) as (
  select 'schema', n.nspname, r.rolname, acl.privilege_type
  from pg_namespace as n cross join aclexplode(n.nspacl) as acl join pg_roles as r on r.oid = acl.grantee
  where n.nspname in (select schema_name from loaded union all select schema_name from mart)
  union all
  select case relkind when 'S' then 'sequence' else 'table' end, relation.name, r.rolname, acl.privilege_type
  from relation cross join aclexplode(relation.relacl) as acl join pg_roles as r on r.oid = acl.grantee
  where acl.grantee <> relation.relowner
  union all
  select 'function', format('ops.%I(%s)', p.proname, oidvectortypes(p.proargtypes)), r.rolname, acl.privilege_type
  from pg_proc as p cross join aclexplode(p.proacl) as acl join pg_roles as r on r.oid = acl.grantee
  where p.pronamespace = 'ops'::regnamespace and acl.grantee <> p.proowner
), difference as (
  select 'grant' as verb, * from (select * from wanted except select * from granted) as missing
  union all
  select 'revoke', * from (select * from granted except select * from wanted) as excess where role_name in (select role_name from role)
), of_object as (
  select verb, kind, role_name, name, string_agg(lower(privilege), ', ' order by privilege) as privileges
  from difference group by 1, 2, 3, 4
)
select role_name || case verb when 'grant' then ' may ' else ' may no longer ' end || replace(replace(privileges, 'usage', 'use'), 'create', 'own views in') || ': '
    || case when count(*) = 1 then kind || ' ' || min(name) else count(*) || ' ' || kind || 's' end as what,
  format('%s %s on %s %s %s %I', verb, privileges, kind, string_agg(name, ', ' order by name), case verb when 'grant' then 'to' else 'from' end, role_name) as statement,
  true as may
from of_object
group by verb, kind, role_name, privileges
order by verb desc, kind, role_name, privileges
