-- grain: one row per PPSR search whose watch is active
create or replace view mart.watch_expiry as
select
  c.rooftop_id,
  r.rooftop_name,
  (c.rooftop_id::text || '-' || c.eval_id::text)::varchar(32) as evaluation_key,
  c.eval_id,
  c.check_ref,
  c.vin,
  c.searched_at,
  c.watch_status,
  c.watch_status_since,
  c.watch_ends_at,
  (c.watch_ends_at at time zone r.time_zone)::date as watch_ends_on,
  (extract(epoch from c.watch_ends_at - now()) / 86400)::numeric(12,2) as days_left,
  s.rooftop_id as stock_rooftop_id,
  s.stock_no,
  s.stock_no is not null as is_in_stock,
  exists (
    select from core.vehicle_check as later
    where later.group_id = c.group_id and later.vin = c.vin and later.check_kind = 'ppsr' and later.gone_at is null and later.searched_at > c.searched_at
  ) as is_searched_again
from core.vehicle_check as c
join core.rooftop as r using (rooftop_id)
left join core.ref_watch_status as w using (watch_status)
left join lateral (
  select u.rooftop_id, u.stock_no
  from core.stock_unit as u
  join core.rooftop as home using (rooftop_id)
  where u.vin = c.vin and home.group_id = c.group_id and u.off_stock_at is null
  order by u.rooftop_id = c.rooftop_id desc, u.first_seen_at desc, u.rooftop_id, u.stock_no
  limit 1
) as s on true
where c.check_kind = 'ppsr' and c.gone_at is null and c.watch_ends_at > now()
  and not coalesce(w.is_terminal, false) and coalesce(c.watch_status, '') not in ('not_watched', 'disabled');

comment on view mart.watch_expiry is 'PPSR searches whose 14 days of watching end soon: which cars should be searched again before that? Watches that have ended, changed or are switched off are not included. | grain: one row per PPSR search whose watch is active | key: rooftop_id, eval_id, check_ref | history: none | freshness: as of the last good run of vehicle-checks: see data_freshness';
comment on column mart.watch_expiry.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.watch_expiry.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.watch_expiry.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.watch_expiry.eval_id is 'Evaluation of the search | unit: id | source: core.vehicle_check.eval_id';
comment on column mart.watch_expiry.check_ref is 'Id of the search at the service | unit: id | source: core.vehicle_check.check_ref';
comment on column mart.watch_expiry.vin is 'VIN that was searched | unit: text | source: core.vehicle_check.vin';
comment on column mart.watch_expiry.searched_at is 'Time of the search | unit: instant in UTC | source: core.vehicle_check.searched_at [A §4]';
comment on column mart.watch_expiry.watch_status is 'Last reported status of the watch; null: never reported | unit: text | source: core.vehicle_check.watch_status [A §3] | joins: dim_watch_status.watch_status';
comment on column mart.watch_expiry.watch_status_since is 'First answer with this status | unit: instant in UTC | source: core.vehicle_check.watch_status_since';
comment on column mart.watch_expiry.watch_ends_at is 'When the watch ends: 14 days after the search | unit: instant in UTC | source: core.vehicle_check.watch_ends_at [A §8]';
comment on column mart.watch_expiry.watch_ends_on is 'Day of watch_ends_at in the time zone of the rooftop | unit: date | source: watch_ends_at | joins: dim_date.date_day';
comment on column mart.watch_expiry.days_left is 'Days from now to watch_ends_at | unit: days | source: watch_ends_at';
comment on column mart.watch_expiry.stock_rooftop_id is 'Rooftop of the group that has the vehicle in stock, the rooftop of the search before others; null: none | unit: id | source: core.stock_unit.rooftop_id | joins: dim_rooftop.rooftop_id';
comment on column mart.watch_expiry.stock_no is 'Stock number at stock_rooftop_id | unit: text | source: core.stock_unit.stock_no';
comment on column mart.watch_expiry.is_in_stock is 'true: in stock at a rooftop of the group; false without a stock list | unit: flag | source: core.stock_unit.off_stock_at';
comment on column mart.watch_expiry.is_searched_again is 'true: the group has a later search of the VIN, so this watch may end | unit: flag | source: core.vehicle_check.searched_at';
