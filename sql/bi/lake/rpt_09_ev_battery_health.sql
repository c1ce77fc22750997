with line as (
  select rooftop_id, eval_id, battery_soh_pct, source,
    row_number() over (partition by rooftop_id, eval_id order by case when battery_soh_pct is null then 1 else 0 end, line_no) as rank_no
  from fact_reconditioning
  where is_current and not is_cost
)
select e.rooftop_id, e.rooftop_name, e.evaluation_key, e.eval_id, e.completed_date, e.month_start, e.user_id, e.salesperson, e.vin,
  e.make, e.model, e.model_year, e.odometer_km, i.battery_soh_pct, i.source as reading_source, i.battery_soh_pct is null as is_reading_missing
from evaluation_wide as e
join line as i on i.rooftop_id = e.rooftop_id and i.eval_id = e.eval_id and i.rank_no = 1
where e.completed_date is not null and not e.is_gone
