with priced as (
  select e.rooftop_id, e.eval_id, p.is_current, p.wholesale, p.retail,
    row_number() over (partition by e.rooftop_id, e.eval_id, p.is_current order by p.observed_at) as rank_no
  from fact_evaluation as e
  join fact_price_observation as p
    on p.rooftop_id = e.rooftop_id and p.eval_id = e.eval_id and p.price_source = 'pricing_ai' and p.currency_code = e.currency_code
), guide as (
  select e.evaluation_key, n.wholesale as wholesale_now, n.retail as retail_now,
    case when f.eval_id is null then n.wholesale else f.wholesale end as wholesale_first,
    case when f.eval_id is null then n.retail else f.retail end as retail_first,
    coalesce(e.recon_total, e.recon_line_total) as recon_total
  from fact_evaluation as e
  left join priced as f on f.rooftop_id = e.rooftop_id and f.eval_id = e.eval_id and not f.is_current and f.rank_no = 1
  left join priced as n on n.rooftop_id = e.rooftop_id and n.eval_id = e.eval_id and n.is_current
)
select e.rooftop_id, e.rooftop_name, e.evaluation_key, e.eval_id, e.completed_date, e.month_start, e.user_id, e.salesperson,
  e.make, e.model, e.model_year, e.currency_code, e.final_price as appraised_price, g.recon_total,
  g.wholesale_first, g.retail_first, g.wholesale_now, g.retail_now,
  e.final_price - g.wholesale_first as gap_to_wholesale_first,
  cast(case when g.wholesale_first <> 0
    then least(greatest(ratio(e.final_price - g.wholesale_first, g.wholesale_first), -999.9999), 999.9999) end as decimal(7,4)) as gap_share,
  g.retail_first - e.final_price - coalesce(g.recon_total, 0) as gross_room_first,
  g.retail_now - e.final_price - coalesce(g.recon_total, 0) as gross_room_now
from evaluation_wide as e
join guide as g on g.evaluation_key = e.evaluation_key
where not e.is_gone and e.completed_date is not null and e.final_price is not null
