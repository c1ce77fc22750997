-- Access: the logins that "forecourt grant" made, and their dealer groups. Roles belong to the cluster, not to this database:
-- sql/access has the statements with which grant changes them.
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
