-- Finds roles of the cluster that are missing, have too many attributes, or are members of one another; and the membership that
-- lets the owner of the warehouse give views to the owner roles.
with wanted (role_name, comment) as (
  values ('forecourt_writer', 'Loads a Forecourt warehouse: reads and writes rows, creates and drops nothing'),
    ('bi_reader', 'Reads the marts of a Forecourt warehouse (schema mart)'),
    ('bi_tenant', 'Reads the marts of a Forecourt warehouse, only its own dealer groups (schema mart_scoped)'),
    ('bi_pii_reader', 'Reads the marts of a Forecourt warehouse and its customers (schemas mart and mart_pii)'),
    ('forecourt_console', 'Reads the marts of a Forecourt warehouse for one person of its console, only the rooftops of that person (schema mart_scoped)'),
    ('mart_owner', 'Owns the views of schema mart'),
    ('mart_scoped_owner', 'Owns the views of schema mart_scoped: row-level security applies to it'),
    ('mart_pii_owner', 'Owns the views of schema mart_pii')
), member (role_name, parent_name) as (
  -- `serve` becomes forecourt_console while it reads for a person of role stock. A loader has the rights of it only then, because
  -- forecourt_writer inherits nothing.
  values ('forecourt_console', 'bi_tenant'), ('forecourt_writer', 'forecourt_console')
), bypassing (role_name) as (
  -- Their policies are `true`, but any policy limits how the planner can reorder conditions. Where bypassrls is allowed, they have it.
  select role_name
  from (values ('mart_owner'), ('mart_pii_owner')) as owner (role_name)
  join pg_roles as me on me.rolname = current_user
  where me.rolsuper or (me.rolbypassrls and current_setting('server_version_num')::int >= 160000)
), excess as (
  select r.rolname, concat_ws(' ', case when r.rolsuper then 'nosuperuser' end, case when r.rolcanlogin then 'nologin' end,
    case when r.rolbypassrls and r.rolname not in ('mart_owner', 'mart_pii_owner') then 'nobypassrls' end, case when r.rolcreaterole then 'nocreaterole' end,
    case when r.rolcreatedb then 'nocreatedb' end, case when r.rolreplication then 'noreplication' end,
    case when r.rolinherit and r.rolname = 'forecourt_writer' then 'noinherit' end) as attributes
  from wanted join pg_roles as r on r.rolname = wanted.role_name
), holder as (
  select r.rolname, r.oid from pg_namespace as n join pg_roles as r on r.oid = n.nspowner where n.nspname = 'core' and not r.rolsuper
), step (rank, name, what, statement) as (
  select 1, role_name, 'role ' || role_name || ' is made',
    format('create role %I nologin %s; comment on role %I is %L', role_name, case role_name when 'forecourt_writer' then 'noinherit' else 'inherit' end, role_name, comment)
  from wanted where not exists (select from pg_roles as r where r.rolname = wanted.role_name)
  union all
  select 2, rolname, 'role ' || rolname || ' becomes ' || attributes, format('alter role %I %s', rolname, attributes)
  from excess where attributes <> ''
  union all
  select 3, role_name, 'role ' || role_name || ' reads past row-level security', format('alter role %I bypassrls', role_name)
  from bypassing
  where not exists (select from pg_roles as r where r.rolname = bypassing.role_name and r.rolbypassrls)
  union all
  select 4, member.rolname, member.rolname || ' is no longer a member of ' || parent.rolname, format('revoke %I from %I', parent.rolname, member.rolname)
  from pg_auth_members as m
  join pg_roles as member on member.oid = m.member
  join pg_roles as parent on parent.oid = m.roleid
  where member.rolname in (select role_name from wanted) and parent.rolname in (select role_name from wanted)
    and (member.rolname, parent.rolname) not in (select role_name, parent_name from member)
  union all
  select 5, role_name, role_name || ' is a member of ' || parent_name, format('grant %I to %I', parent_name, role_name)
  from member
  where not exists (
    select from pg_auth_members as m
    where m.roleid = (select oid from pg_roles as r where r.rolname = parent_name) and m.member = (select oid from pg_roles as r where r.rolname = role_name))
  union all
  select 6, role_name, holder.rolname || ', who owns the warehouse, may ' || case role_name when 'forecourt_console' then 'become ' else 'own views as ' end || role_name,
    format('grant %I to %I', role_name, holder.rolname)
      || case when current_setting('server_version_num')::int >= 160000 then ' with inherit true, set true' else '' end
  from wanted
  cross join holder
  left join pg_roles as r on r.rolname = wanted.role_name
  where wanted.role_name in ('mart_owner', 'mart_scoped_owner', 'mart_pii_owner', 'forecourt_console')
    and not coalesce(
      pg_has_role(holder.oid, r.oid, 'usage')
        and pg_has_role(holder.oid, r.oid, case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end),
      false)
)
select what, statement, true as may from step order by rank, name
