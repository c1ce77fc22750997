with summed as (
  select rooftop_id, month_start, count(*) as evaluations,
    count(case when photo_count = 0 then 1 end) as no_photo,
    count(case when photo_count between 1 and 7 then 1 end) as under_eight,
    count(case when photo_count > 0 and hero_source = 'default' then 1 end) as hero_not_chosen,
    count(case when photo_count > 0 and hero_source is null then 1 end) as contract_breach,
    count(case when photo_count >= 8 and hero_source <> 'default' then 1 end) as complete,
    sum(photo_count) as photos
  from evaluation_wide
  where not is_gone and completed_date is not null
  group by rooftop_id, month_start
)
select s.rooftop_id, r.rooftop_name, s.month_start, s.evaluations, s.no_photo, s.under_eight, s.hero_not_chosen, s.contract_breach,
  s.complete, s.photos, cast(ratio(s.no_photo, s.evaluations) as decimal(7,4)) as no_photo_share
from summed as s
join dim_rooftop as r on r.rooftop_id = s.rooftop_id
