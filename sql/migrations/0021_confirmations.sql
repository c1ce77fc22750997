-- A price that is confirmed each night changes no fact: the sums no longer hold when it was confirmed, so that a night without
-- new prices rewrites none of them. Report 08 reads the confirmations of the months that it shows.
drop view if exists mart_scoped.rpt_08_pricing_coverage, mart.rpt_08_pricing_coverage;
alter table core.agg_appraisal drop column confirmed_at, drop column confirmed_days;
alter table core.agg_pricing_day drop column confirmed_days, drop column oldest_confirmed_at;

create or replace function core.appraisals(groups int[], evals bigint[]) returns setof core.agg_appraisal
language sql stable as $$
  select
    e.group_id, e.rooftop_id, e.eval_id, e.completed_date_local,
    date_trunc('month', e.completed_date_local::timestamp)::date,
    e.user_id, e.vehicle_vin, e.make, e.model, e.model_year, e.currency_code, e.photo_count, e.hero_source,
    -- The bounds belong to the lower bucket.
    case when e.created_at_source = 'CreatedAt' and e.completed_at >= e.created_at then
      width_bucket(extract(epoch from e.completed_at - e.created_at) - 0.000001,
        array[300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800])
    end,
    e.final_price,
    coalesce(e.recon_total, e.recon_line_total)::numeric(15,3),
    array(
      select row(coalesce(line.recon_type, ''), coalesce(sum(line.cost) filter (where line.first_version = 1), 0),
        coalesce(sum(line.cost) filter (where line.last_version is null), 0))::core.recon_cost
      from core.reconditioning_item as line
      where line.rooftop_id = e.rooftop_id and line.eval_id = e.eval_id
        and lower(line.recon_type) is distinct from 'info' and (line.first_version = 1 or line.last_version is null)
      group by coalesce(line.recon_type, '')
      order by coalesce(line.recon_type, '')
    ),
    case when price.eval_id is null then asked.outcome else 'priced' end,
    first.wholesale, first.retail, latest.wholesale, latest.retail,
    (e.final_price - first.wholesale)::numeric(18,3),
    (case when first.wholesale <> 0 then least(greatest((e.final_price - first.wholesale) / first.wholesale, -999.9999), 999.9999) end)::numeric(7,4),
    (first.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3),
    (latest.retail - e.final_price - coalesce(e.recon_total, e.recon_line_total, 0))::numeric(18,3)
  from core.evaluation as e
  left join core.price_observation as price
    on price.rooftop_id = e.rooftop_id and price.eval_id = e.eval_id and price.price_source = 'pricing_ai' and price.is_current
  left join ops.enrichment_state as asked
    on asked.rooftop_id = e.rooftop_id and asked.stream = 'pricing' and asked.eval_id = e.eval_id and asked.ask = 'pricingAi'
  left join lateral (
    select earlier.eval_id, earlier.wholesale, earlier.retail from core.price_observation as earlier
    where earlier.rooftop_id = e.rooftop_id and earlier.eval_id = e.eval_id and earlier.price_source = 'pricing_ai'
      and not earlier.is_current and earlier.currency_code = e.currency_code
    order by earlier.observed_at
    limit 1
  ) as superseded on true
  cross join lateral (
    select case when price.currency_code = e.currency_code then price.wholesale end as wholesale,
      case when price.currency_code = e.currency_code then price.retail end as retail
  ) as latest
  -- The current price is the newest. Where no price came before it, it is also the first.
  cross join lateral (
    select case when superseded.eval_id is null then latest.wholesale else superseded.wholesale end as wholesale,
      case when superseded.eval_id is null then latest.retail else superseded.retail end as retail
  ) as first
  where e.group_id = any(groups) and e.eval_id = any(evals) and e.gone_at is null and e.completed_date_local is not null
$$;
create or replace function core.pricing_days(counted core.agg_appraisal[]) returns setof core.agg_pricing_day
language sql stable as $$
  select
    rooftop_id, completed_date_local, count(*)::int,
    (count(*) filter (where price_outcome = 'priced'))::int,
    (count(*) filter (where price_outcome in ('skipped', 'rejected')))::int,
    (count(*) filter (where price_outcome = 'failed'))::int
  from unnest(counted)
  where price_outcome is not null
  group by 1, 2
$$;
