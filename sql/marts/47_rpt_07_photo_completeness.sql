-- grain: one row per rooftop and month
create or replace view mart.rpt_07_photo_completeness as
with summed as (
  select
    a.rooftop_id,
    date_trunc('month', a.completed_date_local::timestamp)::date as month_start,
    sum(a.appraisals)::int as evaluations,
    sum(a.no_photo)::int as no_photo,
    sum(a.under_eight)::int as under_eight,
    sum(a.hero_default)::int as hero_not_chosen,
    sum(a.hero_missing)::int as contract_breach,
    sum(a.complete)::int as complete,
    sum(a.photos)::int as photos
  from core.agg_evaluation_day as a
  group by a.rooftop_id, date_trunc('month', a.completed_date_local::timestamp)::date
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.month_start,
  s.evaluations,
  s.no_photo,
  s.under_eight,
  s.hero_not_chosen,
  s.contract_breach,
  s.complete,
  s.photos,
  (s.no_photo::numeric / s.evaluations)::numeric(7,4) as no_photo_share
from summed as s
join core.rooftop as r using (rooftop_id);

comment on view mart.rpt_07_photo_completeness is 'How complete are the photos of the appraisals: no photo, fewer than eight, a hero photo that no person chose? | grain: one row per rooftop and month | key: rooftop_id, month_start | history: current state of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_07_photo_completeness.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_07_photo_completeness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_07_photo_completeness.month_start is 'First day of the month of completion, in the time zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_07_photo_completeness.evaluations is 'Evaluations completed in the month | unit: count | source: core.agg_evaluation_day.appraisals';
comment on column mart.rpt_07_photo_completeness.no_photo is 'Evaluations without a photo | unit: count | source: core.evaluation.photo_count [A §2 Photos]';
comment on column mart.rpt_07_photo_completeness.under_eight is 'Evaluations with 1 to 7 photos | unit: count | source: core.evaluation.photo_count';
comment on column mart.rpt_07_photo_completeness.hero_not_chosen is 'Evaluations with photos whose first photo is the hero by default, because no person chose one | unit: count | source: core.evaluation.hero_source = default [A §2 heroSource]';
comment on column mart.rpt_07_photo_completeness.contract_breach is 'Evaluations with photos but without a hero, which the document excludes | unit: count | source: core.evaluation.hero_source null';
comment on column mart.rpt_07_photo_completeness.complete is 'Evaluations with 8 photos or more and a hero that a person chose | unit: count | source: core.evaluation.photo_count, hero_source';
comment on column mart.rpt_07_photo_completeness.photos is 'Number of their photos | unit: count | source: core.evaluation.photo_count';
comment on column mart.rpt_07_photo_completeness.no_photo_share is 'no_photo / evaluations | unit: share from 0 to 1 | source: no_photo and evaluations';
