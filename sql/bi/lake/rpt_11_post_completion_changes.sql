with edited as (
  select v.rooftop_id, r.rooftop_name, cast(date_trunc('month', local_day(v.valid_from, r.time_zone)) as date) as month_start,
    v.user_id, e.currency_code, v.eval_id, v.final_price - b.final_price as price_change, concat(', ', v.changed_fields, ',') as fields
  from fact_evaluation_change as v
  join fact_evaluation as e on e.rooftop_id = v.rooftop_id and e.eval_id = v.eval_id
  join dim_rooftop as r on r.rooftop_id = v.rooftop_id
  left join fact_evaluation_change as b on b.rooftop_id = v.rooftop_id and b.eval_id = v.eval_id and b.version_no = v.version_no - 1
  where v.version_no > 1 and v.valid_from > e.completed_at and not e.is_gone
)
select c.rooftop_id, c.rooftop_name, c.month_start, c.user_id, u.display_name as salesperson, c.currency_code,
  count(*) as changes, count(distinct c.eval_id) as evaluations,
  count(case when c.fields like '%, final_price,%' then 1 end) as price_changes,
  cast(coalesce(sum(case when c.price_change > 0 then c.price_change end), 0) as decimal(18,3)) as price_increase_sum,
  cast(coalesce(sum(case when c.price_change < 0 then -c.price_change end), 0) as decimal(18,3)) as price_decrease_sum,
  count(case when c.fields like '%, user_id,%' then 1 end) as reassignments,
  count(case when c.fields like '%, reconditioning,%' or c.fields like '%, recon_total,%' then 1 end) as recon_changes
from edited as c
left join dim_user as u on u.user_id = c.user_id
group by c.rooftop_id, c.rooftop_name, c.month_start, c.user_id, u.display_name, c.currency_code
