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

comment on view mart.rpt_07_photo_completeness is 'How complete are the photos of the appraisals: none, fewer than eight, a first photo that nobody chose? | grain: one row per rooftop and month | key: rooftop_id, month_start | history: evaluations as they stand now; those that the service no longer shows are left out | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_07_photo_completeness.rooftop_id is 'Rooftop that the row belongs to | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_07_photo_completeness.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_07_photo_completeness.month_start is 'First day of the month of completion, in the zone of the rooftop | unit: date | source: core.evaluation.completed_date_local | joins: dim_date.date_day';
comment on column mart.rpt_07_photo_completeness.evaluations is 'Evaluations completed in the month | unit: count | source: core.agg_evaluation_day.appraisals';
comment on column mart.rpt_07_photo_completeness.no_photo is 'Without a photo | unit: count | source: core.evaluation.photo_count [A §2 Photos]';
comment on column mart.rpt_07_photo_completeness.under_eight is 'With 1 to 7 photos | unit: count | source: core.evaluation.photo_count';
comment on column mart.rpt_07_photo_completeness.hero_not_chosen is 'With photos of which the first stands in as hero, because nobody chose one | unit: count | source: core.evaluation.hero_source = default [A §2 heroSource]';
comment on column mart.rpt_07_photo_completeness.contract_breach is 'With photos but no hero at all, which the document rules out | unit: count | source: core.evaluation.hero_source null';
comment on column mart.rpt_07_photo_completeness.complete is 'With 8 photos or more and a hero that somebody chose | unit: count | source: core.evaluation.photo_count, hero_source';
comment on column mart.rpt_07_photo_completeness.photos is 'Photos of all of them | unit: count | source: core.evaluation.photo_count';
comment on column mart.rpt_07_photo_completeness.no_photo_share is 'no_photo / evaluations | unit: share from 0 to 1 | source: no_photo and evaluations';
