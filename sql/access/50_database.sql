-- Rights on the database itself; only its owner may change them. Whoever may create temporary tables or large objects can write:
-- readers need neither, forecourt_writer and the owner of the warehouse need temporary tables.
with database as (
  select d.oid, d.datname, d.datdba, coalesce(d.datacl, acldefault('d', d.datdba)) as acl, pg_has_role(current_user, d.datdba, 'usage') as may,
    (select rolname from pg_roles as r where r.oid = d.datdba) as owner
  from pg_database as d where d.datname = current_database()
), holder as (
  select r.oid, r.rolname from pg_namespace as n join pg_roles as r on r.oid = n.nspowner where n.nspname = 'core' and not r.rolsuper
), wanted (role_name, privilege) as (
  values ('forecourt_writer', 'CONNECT'), ('forecourt_writer', 'TEMPORARY'), ('bi_reader', 'CONNECT'), ('bi_tenant', 'CONNECT'), ('bi_pii_reader', 'CONNECT')
  union all
  select holder.rolname, 'TEMPORARY' from holder, database where holder.oid <> database.datdba
), granted as (
  select r.rolname, acl.privilege_type from database cross join aclexplode(database.acl) as acl join pg_roles as r on r.oid = acl.grantee
), step (rank, what, statement, may) as (
  select 1, role_name || ' may ' || case privilege when 'CONNECT' then 'connect to' else 'make temporary tables in' end || ' database ' || datname, format('grant %s on database %I to %I', lower(privilege), datname, role_name), may
  from wanted cross join database
  where not exists (select from granted where granted.rolname = wanted.role_name and granted.privilege_type = wanted.privilege)
  union all
  select 2, 'no other role makes temporary tables in database ' || datname, format('revoke temporary on database %I from public', datname), may
  from database
  where exists (select from aclexplode(database.acl) as acl where acl.grantee = 0 and acl.privilege_type = 'TEMPORARY')
  union all
  select 3, 'no other role makes anything in schema ' || n.nspname, format('revoke create on schema %I from public', n.nspname),
    pg_has_role(current_user, n.nspowner, 'usage')
  from pg_namespace as n
  where exists (select from aclexplode(n.nspacl) as acl where acl.grantee = 0 and acl.privilege_type = 'CREATE')
  union all
  -- The superuser owns these functions. On a managed server no one can revoke them, so this step is left out there.
  select 4, 'no other role makes large objects in database ' || datname,
    'revoke execute on function ' || string_agg(p.oid::regprocedure::text, ', ' order by p.oid::regprocedure::text) || ' from public', true
  from database
  cross join pg_proc as p
  where p.oid = any (array['pg_catalog.lo_creat(int)', 'pg_catalog.lo_create(oid)', 'pg_catalog.lo_from_bytea(oid, bytea)']::regprocedure[])
    and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as acl where acl.grantee = 0)
    and pg_has_role(current_user, p.proowner, 'usage')
  group by datname
  union all
  -- Who is connected, and the settings of each login. Our sessions and monitoring need the first; grant reads the second.
  select 5, 'no other role sees who is connected to database ' || datname,
    format('revoke execute on function %1$s from public; grant execute on function %1$s to %2$s', string_agg(p.oid::regprocedure::text, ', ' order by p.oid::regprocedure::text),
      concat_ws(', ', 'forecourt_writer', 'forecourt_console', 'pg_monitor', (select quote_ident(rolname) from holder))), true
  from database
  cross join pg_proc as p
  where p.pronamespace = 'pg_catalog'::regnamespace and (p.proname = 'pg_stat_get_activity' or p.proname like 'pg\_stat\_get\_backend\_%')
    and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as acl where acl.grantee = 0)
    and pg_has_role(current_user, p.proowner, 'usage')
  group by datname
  union all
  select 6, 'no other role sees the settings of logins', 'revoke select on pg_catalog.pg_db_role_setting from public'
    || coalesce((select format('; grant select on pg_catalog.pg_db_role_setting to %I', rolname) from holder), ''), true
  from pg_class as c
  where c.oid = 'pg_catalog.pg_db_role_setting'::regclass and exists (select from aclexplode(c.relacl) as acl where acl.grantee = 0)
    and pg_has_role(current_user, c.relowner, 'usage')
)
select what, statement, may from step order by rank, what
