-- The planner assumes that a table without statistics is empty, and that any index of a rooftop is as good as the key: a first load
-- would read the whole rooftop for each evaluation until autovacuum runs, a minute later. security definer, because forecourt_writer
-- owns no table.
create function ops.refresh_statistics() returns int
language plpgsql security definer set search_path = pg_catalog as $$
declare
  grown regclass;
  refreshed int := 0;
begin
  -- Another process does it now.
  if not pg_try_advisory_xact_lock(7383, 0) then return 0; end if;
  for grown in
    select c.oid::regclass from pg_class as c
    where c.relnamespace in ('core'::regnamespace, 'pii'::regnamespace, 'raw'::regnamespace, 'ops'::regnamespace)
      and c.relkind = 'r' and pg_relation_size(c.oid) / 8192 > 4 * greatest(c.relpages, 8)
    order by c.oid
  loop
    execute format('analyze %s', grown);
    refreshed := refreshed + 1;
  end loop;
  return refreshed;
end
$$;
comment on function ops.refresh_statistics() is 'Analyses the tables that have grown to more than four times the size in their statistics, and returns their number. Autovacuum maintains the statistics afterwards.';
revoke all on function ops.refresh_statistics() from public;
