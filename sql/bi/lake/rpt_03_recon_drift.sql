with line as (
  select e.rooftop_id, e.month_start, e.currency_code, e.evaluation_key, coalesce(i.recon_type, '') as received_type,
    sum(case when i.first_version = 1 then i.cost else 0 end) as first_cost, sum(case when i.is_current then i.cost else 0 end) as latest_cost,
    count(*) - count(i.cost) as without_cost
  from evaluation_wide as e
  join fact_reconditioning as i on i.rooftop_id = e.rooftop_id and i.eval_id = e.eval_id
  where not e.is_gone and e.completed_date is not null and i.is_cost and (i.first_version = 1 or i.is_current)
  group by e.rooftop_id, e.month_start, e.currency_code, e.evaluation_key, coalesce(i.recon_type, '')
), summed as (
  select rooftop_id, month_start, case when received_type = '' then 'unknown' else received_type end as recon_type, currency_code,
    count(*) as evaluations, cast(sum(case when without_cost = 0 then first_cost end) as decimal(18,3)) as first_cost,
    cast(sum(case when without_cost = 0 then latest_cost end) as decimal(18,3)) as latest_cost
  from line
  group by rooftop_id, month_start, case when received_type = '' then 'unknown' else received_type end, currency_code
)
select s.rooftop_id, r.rooftop_name, s.month_start, s.recon_type, s.currency_code, s.evaluations, s.first_cost, s.latest_cost,
  s.latest_cost - s.first_cost as drift,
  cast(case when s.first_cost <> 0
    then least(greatest(ratio(s.latest_cost - s.first_cost, s.first_cost), -999.9999), 999.9999) end as decimal(7,4)) as drift_share,
  cast(null as decimal(18,3)) as actual_cost
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
