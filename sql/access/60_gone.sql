-- What is noted of login roles that are no more: a new role of the same name must not see what the old one saw.
with noted as (
  select role_name from ops.bi_login union select role_name from ops.bi_access
)
select 'login ' || role_name || ' is forgotten: its role is gone' as what,
  format('delete from ops.bi_login where role_name = %L; delete from ops.bi_access where role_name = %L', role_name, role_name) as statement,
  true as may
from noted
where not exists (select from pg_roles as r where r.rolname = noted.role_name)
order by role_name
