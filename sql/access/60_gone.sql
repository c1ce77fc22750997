-- Deletes what is stored about login roles that no longer exist: a new role of the same name must not see what the old one saw.
with recorded as (
  select role_name from ops.bi_login union select role_name from ops.bi_access
)
select 'login ' || role_name || ' is deleted from ops.bi_login: its role no longer exists' as what,
  format('delete from ops.bi_login where role_name = %L; delete from ops.bi_access where role_name = %L', role_name, role_name) as statement,
  true as may
from recorded
where not exists (select from pg_roles as r where r.rolname = recorded.role_name)
order by role_name
