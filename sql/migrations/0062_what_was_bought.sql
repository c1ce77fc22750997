-- evaluation_wide says 0 searches only where the service was asked and listed none, so an export of the lake reads who was asked.
create function ops.log_lake_asked_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from ops.lake) then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    insert into ops.lake_change (source, rooftop_id, eval_ids)
    select 'ops.enrichment_state', rooftop_id, array_agg(distinct eval_id)
    from (
      select rooftop_id, eval_id
      from (
        select rooftop_id, stream, eval_id, ask, outcome = 'answered' and last_asked_at > '-infinity' as is_answered from before
        union all
        select rooftop_id, stream, eval_id, ask, outcome = 'answered' and last_asked_at > '-infinity' from changed
      ) as version
      where stream = 'vehicle-checks' and ask = 'getpastppsrsearch'
      -- A row that is there twice is the same before and after.
      group by rooftop_id, eval_id, is_answered having count(*) = 1
    ) as other
    group by rooftop_id;
  else
    insert into ops.lake_change (source, rooftop_id, eval_ids)
    select 'ops.enrichment_state', rooftop_id, array_agg(distinct eval_id) from changed
    where stream = 'vehicle-checks' and ask = 'getpastppsrsearch' group by rooftop_id;
  end if;
  return null;
end
$$;
comment on function ops.log_lake_asked_trg() is 'Records in ops.lake_change the evaluations whose PPSR searches the service has listed, or no longer lists.';
create trigger log_lake_truncate after truncate on ops.enrichment_state execute function ops.log_lake_truncate_trg();
create trigger log_lake_delete after delete on ops.enrichment_state referencing old table as changed for each statement execute function ops.log_lake_asked_trg();
create trigger log_lake_insert after insert on ops.enrichment_state referencing new table as changed for each statement execute function ops.log_lake_asked_trg();
create trigger log_lake_update after update on ops.enrichment_state referencing old table as before new table as changed for each statement execute function ops.log_lake_asked_trg();

-- An evaluation that was deleted handed its purchase to an older one, which had not led to it.
create or replace view core.stock_outcome as
select
  unit.rooftop_id, unit.stock_no, seen.rooftop_id as eval_rooftop_id, seen.eval_id,
  coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date) as acquired_on,
  (case when seen.rooftop_id = unit.rooftop_id then 'vin_same_rooftop' else 'vin_same_group' end)::varchar(20) as match_rule
from core.stock_unit as unit
join core.rooftop as rooftop using (rooftop_id)
cross join lateral (
  select e.rooftop_id, e.eval_id, e.gone_at
  from core.evaluation as e
  where e.group_id = rooftop.group_id and e.vehicle_vin = unit.vin
    and e.completed_date_local <= coalesce(unit.acquired_on, (unit.first_seen_at at time zone rooftop.time_zone)::date)
  order by e.rooftop_id = unit.rooftop_id desc, e.completed_at desc, e.eval_id desc
  limit 1
) as seen
where seen.gone_at is null;
comment on view core.stock_outcome is 'The evaluation on which a unit of the stock lists was bought: of the same VIN in the dealer group, the last one of the same rooftop, else of the group, completed on or before the day that the unit came in (acquired_on, else the day of its first list). None where the service no longer shows that evaluation.';

-- A line without a cost counted as one of 0: a cost that became known later was a drift. An evaluation whose lines of a type do not all have
-- a cost, in both contents, has none of this type.
create or replace view core.recon_costs as
select rooftop_id, eval_id,
  array_agg(row(recon_type, case when is_known then first_cost end, case when is_known then last_cost end)::core.recon_cost order by recon_type) as recon
from (
  select line.rooftop_id, line.eval_id, coalesce(line.recon_type, '') as recon_type, bool_and(line.cost is not null) as is_known,
    coalesce(sum(line.cost) filter (where line.first_version = 1), 0) as first_cost,
    coalesce(sum(line.cost) filter (where line.last_version is null), 0) as last_cost
  from core.reconditioning_item as line
  where lower(line.recon_type) is distinct from 'info' and (line.first_version = 1 or line.last_version is null)
  group by 1, 2, 3
) as cost
group by 1, 2;
comment on view core.recon_costs is 'Reconditioning of each evaluation by type, without lines of type info, which are no cost. Both costs are null where a line has none; a content without a line of the type costs 0.';

alter table core.agg_recon_day add column costed int not null default 0;
comment on column core.agg_recon_day.costed is 'Evaluations whose lines of the type all have a cost, in both contents: first_cost and last_cost are of these';

create or replace function core.recon_days(counted core.agg_appraisal[]) returns setof core.agg_recon_day
language sql stable parallel safe as $$
  select rooftop_id, completed_date_local, recon_type, currency_code, count(*)::int,
    coalesce(sum(first_cost), 0)::numeric(24,3), coalesce(sum(last_cost), 0)::numeric(24,3), count(first_cost)::int
  from unnest(counted) as one cross join unnest(one.recon)
  group by 1, 2, 3, 4
$$;

update core.agg_appraisal as stored set recon = cost.recon
from core.recon_costs as cost
where cost.rooftop_id = stored.rooftop_id and cost.eval_id = stored.eval_id and (cost.rooftop_id, cost.eval_id) in (
  select rooftop_id, eval_id from core.reconditioning_item where cost is null and lower(recon_type) is distinct from 'info'
  and (first_version = 1 or last_version is null));
update core.agg_recon_day as stored set first_cost = fact.first_cost, last_cost = fact.last_cost, costed = fact.costed
from (
  select rooftop_id, completed_date_local, recon_type, currency_code, coalesce(sum(first_cost), 0) as first_cost, coalesce(sum(last_cost), 0) as last_cost,
    count(first_cost) as costed
  from core.agg_appraisal as one cross join unnest(one.recon)
  group by 1, 2, 3, 4
) as fact
where (stored.rooftop_id, stored.completed_date_local, stored.recon_type, stored.currency_code)
  = (fact.rooftop_id, fact.completed_date_local, fact.recon_type, fact.currency_code);
