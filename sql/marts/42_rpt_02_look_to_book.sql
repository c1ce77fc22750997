-- grain: one row per rooftop, month and salesperson
create or replace view mart.rpt_02_look_to_book as
with bought as (
  select distinct e.rooftop_id, e.eval_id, e.completed_date_local, e.user_id
  from core.rooftop as r
  join core.rooftop as holder on holder.group_id = r.group_id
  join core.stock_outcome as o on o.rooftop_id = holder.rooftop_id and o.eval_rooftop_id = r.rooftop_id
  join core.evaluation as e on e.rooftop_id = r.rooftop_id and e.eval_id = o.eval_id
), counted as (
  select
    a.rooftop_id, date_trunc('month', a.completed_date_local::timestamp)::date as month_start, a.user_id, a.appraisals, 0 as bought
  from core.agg_evaluation_day as a
  union all
  select
    e.rooftop_id, date_trunc('month', e.completed_date_local::timestamp)::date, coalesce(e.user_id, 0), 0, 1
  from bought as e
), summed as (
  select rooftop_id, month_start, user_id, sum(appraisals)::int as appraisals, sum(bought)::int as bought
  from counted
  group by rooftop_id, month_start, user_id
), listed as materialized (
  select * from core.stock_listed
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  nullif(s.user_id, 0) as user_id,
  u.display_name as salesperson,
  s.appraisals,
  k.bought,
  (k.bought::numeric / nullif(s.appraisals, 0))::numeric(7,4) as look_to_book_share
from summed as s
join core.rooftop as r using (rooftop_id)
join listed as l using (rooftop_id)
cross join lateral (
  select case when s.month_start between l.listed_from and l.listed_to then s.bought end as bought
) as k
left join core.app_user as u on u.user_id = s.user_id;

comment on view mart.rpt_02_look_to_book is 'How many of a salesperson''s appraisals became stock? Not known in months before the first or after the newest list of the whole stock. In the months of these two, those before and after them count as not bought, as those without a VIN of 17 characters do. | grain: one row per rooftop, month and salesperson | key: rooftop_id, month_start, user_id | history: current state of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_02_look_to_book.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_02_look_to_book.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_02_look_to_book.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_02_look_to_book.user_id is 'Salesperson; null: the evaluations name none | unit: id | source: core.evaluation.user_id [A §2 UserEmail] | joins: dim_user.user_id';
comment on column mart.rpt_02_look_to_book.salesperson is 'Name of the salesperson; null when unknown | unit: text | source: core.app_user.display_name';
comment on column mart.rpt_02_look_to_book.appraisals is 'Evaluations completed in the month | unit: count | source: core.agg_evaluation_day.appraisals';
comment on column mart.rpt_02_look_to_book.bought is 'Evaluations that were bought: see evaluation_key of fact_stock_unit; null: not known, as the rooftop had no list of its whole stock in or before the month, or none since | unit: count | source: core.stock_outcome';
comment on column mart.rpt_02_look_to_book.look_to_book_share is 'bought / appraisals; null: not known | unit: share from 0 to 1 | source: bought and appraisals';
