-- Few checks have a status that may change, but the planner expects an average number of each status, and read them all.
create function core.watched_vins(of_group int, run_start timestamptz) returns setof varchar
language sql stable set enable_seqscan = off as $$
  select open.vin
  from core.ref_watch_status as status
  cross join lateral (
    select c.vin from core.vehicle_check as c
    where c.group_id = of_group and c.check_kind = 'ppsr' and c.gone_at is null and c.watch_status = status.watch_status offset 0
  ) as open
  where not status.is_terminal and status.watch_status not in ('not_watched', 'disabled')
  union all
  select c.vin from core.vehicle_check as c
  where c.group_id = of_group and c.check_kind = 'ppsr' and c.gone_at is null and c.watch_status = 'disabled' and c.watch_ends_at > run_start
  union all
  select c.vin from core.vehicle_check as c
  where c.group_id = of_group and c.check_kind = 'ppsr' and c.gone_at is null and c.watch_status is null
$$;
comment on function core.watched_vins(int, timestamptz) is 'Vehicles of a dealer group with a PPSR search whose watch status may change: not final, never reported, or switched off before the end of the watch.';
