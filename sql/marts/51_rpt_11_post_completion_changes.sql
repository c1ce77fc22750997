-- grain: one row per rooftop, month of the change, salesperson and currency
create or replace view mart.rpt_11_post_completion_changes as
with change as (
  select
    v.rooftop_id,
    r.rooftop_name,
    date_trunc('month', v.valid_from at time zone r.time_zone)::date as month_start,
    v.user_id,
    e.currency_code,
    v.eval_id,
    v.changed_fields,
    v.final_price - before.final_price as price_change
  from core.evaluation_version as v
  join core.evaluation as e on e.rooftop_id = v.rooftop_id and e.eval_id = v.eval_id
  join core.rooftop as r on r.rooftop_id = v.rooftop_id
  left join core.evaluation_version as before
    on before.rooftop_id = v.rooftop_id and before.eval_id = v.eval_id and before.version_no = v.version_no - 1
  where v.version_no > 1 and v.valid_from > e.completed_at and e.gone_at is null
)
select
  c.rooftop_id,
  c.rooftop_name,
  c.month_start,
  c.user_id,
  u.display_name as salesperson,
  c.currency_code,
  count(*)::int as changes,
  count(distinct c.eval_id)::int as evaluations,
  count(*) filter (where 'final_price' = any(c.changed_fields))::int as price_changes,
  coalesce(sum(greatest(c.price_change, 0)), 0)::numeric(18,3) as price_increase_sum,
  coalesce(sum(greatest(-c.price_change, 0)), 0)::numeric(18,3) as price_decrease_sum,
  count(*) filter (where 'user_id' = any(c.changed_fields))::int as reassignments,
  count(*) filter (where c.changed_fields && array['reconditioning', 'recon_total'])::int as recon_changes
from change as c
left join core.app_user as u using (user_id)
group by c.rooftop_id, c.rooftop_name, c.month_start, c.user_id, u.display_name, c.currency_code;

comment on view mart.rpt_11_post_completion_changes is 'What is edited after an appraisal was completed: prices, reconditioning, the salesperson? Several edits between two reads of the service count as one. | grain: one row per rooftop, month of the change, salesperson and currency | key: rooftop_id, month_start, user_id, currency_code | history: all observed contents since loading began, of the evaluations that the service still shows | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.rpt_11_post_completion_changes.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_11_post_completion_changes.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_11_post_completion_changes.month_start is 'First day of the month of the edit, in the time zone of the rooftop | unit: date | source: core.evaluation_version.valid_from | joins: dim_date.date_day';
comment on column mart.rpt_11_post_completion_changes.user_id is 'Salesperson after the edit; null: the evaluation names none | unit: id | source: core.evaluation_version.user_id | joins: dim_user.user_id';
comment on column mart.rpt_11_post_completion_changes.salesperson is 'Name of the salesperson; null when unknown | unit: text | source: core.app_user.display_name';
comment on column mart.rpt_11_post_completion_changes.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.evaluation.currency_code';
comment on column mart.rpt_11_post_completion_changes.changes is 'Observed edits after completion | unit: count | source: core.evaluation_version [A §2 UpdatedAt]';
comment on column mart.rpt_11_post_completion_changes.evaluations is 'Evaluations that were edited | unit: count | source: core.evaluation_version.eval_id';
comment on column mart.rpt_11_post_completion_changes.price_changes is 'Edits that changed the price | unit: count | source: core.evaluation_version.changed_fields';
comment on column mart.rpt_11_post_completion_changes.price_increase_sum is 'Sum of all price increases, where the price was known before and after | unit: currency_code | source: core.evaluation_version.final_price';
comment on column mart.rpt_11_post_completion_changes.price_decrease_sum is 'Sum of all price decreases as a positive amount, where the price was known before and after | unit: currency_code | source: core.evaluation_version.final_price';
comment on column mart.rpt_11_post_completion_changes.reassignments is 'Edits that changed the salesperson | unit: count | source: core.evaluation_version.changed_fields';
comment on column mart.rpt_11_post_completion_changes.recon_changes is 'Edits that changed reconditioning | unit: count | source: core.evaluation_version.changed_fields';
