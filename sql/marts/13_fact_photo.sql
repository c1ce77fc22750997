-- grain: one row per photo of an evaluation
create or replace view mart.fact_photo as
select
  (p.rooftop_id::text || '-' || p.eval_id::text)::varchar(32) as evaluation_key,
  p.rooftop_id,
  p.eval_id,
  p.photo_id,
  p.display_position,
  p.supplied_order,
  p.is_hero,
  p.hero_source,
  p.angle,
  p.first_seen_at,
  p.removed_at
from core.photo as p;

comment on view mart.fact_photo is 'Photos: id, order and hero, without the images. The permalink GET /links/photo/<photo_id> of "forecourt serve" opens the image. | grain: one row per photo of an evaluation | key: evaluation_key, photo_id | history: removed photos stay and have removed_at | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.fact_photo.evaluation_key is 'Rooftop and evaluation in one column, for tools that join on one column | unit: id | source: rooftop_id and eval_id | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_photo.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_photo.eval_id is 'EvalID of the appraisal service | unit: id | source: core.photo.eval_id';
comment on column mart.fact_photo.photo_id is 'Photo id of the service | unit: id | source: core.photo.photo_id [A §2 Photos]';
comment on column mart.fact_photo.display_position is 'Position in the list, from 1 | unit: number | source: core.photo.display_position';
comment on column mart.fact_photo.supplied_order is 'Order that the service states; not unique | unit: number | source: core.photo.supplied_order [A §2 order]';
comment on column mart.fact_photo.is_hero is 'true: the hero photo, shown first | unit: flag | source: core.photo.is_hero [A §2 hero]';
comment on column mart.fact_photo.hero_source is 'How the hero was chosen | unit: text | source: core.photo.hero_source [A §2 heroSource]';
comment on column mart.fact_photo.angle is 'Angle of the picture | unit: text | source: core.photo.angle [A §2]';
comment on column mart.fact_photo.first_seen_at is 'First seen | unit: instant in UTC | source: core.photo.first_seen_at';
comment on column mart.fact_photo.removed_at is 'When it was first missing from the evaluation; null: it is part of it | unit: instant in UTC | source: core.photo.removed_at';
