{{ config(materialized='table') }}

select rooftop.rooftop_name, fact.currency_code, date_trunc('month', fact.completed_date)::date as month_start,
  count(*) as appraisals, sum(fact.final_price) as appraised
from {{ source('forecourt', 'fact_evaluation') }} as fact
join {{ source('forecourt', 'dim_rooftop') }} as rooftop using (rooftop_id)
where not fact.is_gone
group by 1, 2, 3
