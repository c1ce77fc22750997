with priced as (
  select s.rooftop_id, s.stock_no, p.retail, row_number() over (partition by s.rooftop_id, s.stock_no order by p.observed_at) as rank_no
  from fact_stock_unit as s
  join fact_price_observation as p on p.rooftop_id = s.eval_rooftop_id and p.eval_id = s.eval_id
    and p.price_source = 'pricing_ai' and p.currency_code = s.currency_code and p.retail is not null
  join fact_evaluation as e on e.rooftop_id = s.eval_rooftop_id and e.eval_id = s.eval_id and p.observed_at < e.completed_at + interval '7' day
)
select s.rooftop_id, r.rooftop_name, s.stock_no, s.vin, s.make, s.model, s.model_year, s.evaluation_key, s.acquired_on,
  cast(date_trunc('month', s.acquired_on) as date) as month_start, s.currency_code, f.retail as ai_retail_at_appraisal, s.asking_price_first,
  s.asking_price_first - f.retail as error,
  cast(case when s.asking_price_first <> 0
    then least(greatest(ratio(s.asking_price_first - f.retail, s.asking_price_first), -999.9999), 999.9999) end as decimal(7,4)) as error_share,
  cast(case when s.asking_price_first <> 0
    then least(abs(ratio(s.asking_price_first - f.retail, s.asking_price_first)), 999.9999) end as decimal(7,4)) as absolute_error_share
from fact_stock_unit as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
join priced as f on f.rooftop_id = s.rooftop_id and f.stock_no = s.stock_no and f.rank_no = 1
where s.asking_price_first is not null
