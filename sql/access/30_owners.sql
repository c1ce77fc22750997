-- Finds views of the marts whose owner is not the role with whose rights they should read.
with wanted (schema_name, role_name) as (
  values ('mart', 'mart_owner'), ('mart_scoped', 'mart_scoped_owner'), ('core_scoped', 'mart_scoped_owner'), ('mart_pii', 'mart_pii_owner')
), view as (
  select wanted.schema_name, wanted.role_name, count(*) as views,
    string_agg(format('alter view %I.%I owner to %I', wanted.schema_name, c.relname, wanted.role_name), '; ' order by c.relname) as statement
  from wanted
  join pg_namespace as n on n.nspname = wanted.schema_name
  join pg_class as c on c.relnamespace = n.oid and c.relkind = 'v'
  where c.relowner is distinct from (select oid from pg_roles as r where r.rolname = wanted.role_name)
  group by 1, 2
)
select role_name || ' owns ' || views || ' views of ' || schema_name as what, statement, true as may
from view order by schema_name
