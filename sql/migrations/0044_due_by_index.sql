-- A night reads what is due by index, so that its cost does not depend on the length of the history.

-- Whether an evaluation is new to Pricing AI follows from two tables, which no index spans. So each of those has a row, which follows
-- evaluations and states whoever writes them.
create table ops.new_to_pricing (
  rooftop_id int not null,
  eval_id bigint not null,
  primary key (rooftop_id, eval_id)
);
comment on table ops.new_to_pricing is 'Evaluations that Pricing AI can price and was not asked about yet, or not since they were edited. ops.new_to_pricing_facts defines it.';

create view ops.new_to_pricing_facts as
select evaluation.rooftop_id, evaluation.eval_id
from core.evaluation
left join ops.enrichment_state as state on state.rooftop_id = evaluation.rooftop_id and state.stream = 'pricing'
  and state.eval_id = evaluation.eval_id and state.ask = 'pricingAi'
where gone_at is null and completed_at is not null and odometer is not null
  and (state.eval_id is null or source_updated_at > state.last_asked_at);
comment on view ops.new_to_pricing_facts is 'The rows of ops.new_to_pricing, calculated from the facts.';

-- A state is written under a lock of its evaluation, so the second of two writers sees what the first has committed.
-- The settings: by index, also while a table is new and has no statistics.
create function ops.refresh_new_to_pricing(rooftops int[], evals bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with touched as materialized (
    select * from unnest(rooftops, evals) as touched (rooftop_id, eval_id)
  ), fact as materialized (
    select rooftop_id, eval_id from touched join ops.new_to_pricing_facts using (rooftop_id, eval_id)
  ), emptied as (
    delete from ops.new_to_pricing as known using touched
    where (known.rooftop_id, known.eval_id) = (touched.rooftop_id, touched.eval_id)
      and (known.rooftop_id, known.eval_id) not in (select rooftop_id, eval_id from fact)
  )
  insert into ops.new_to_pricing select rooftop_id, eval_id from fact order by 1, 2 on conflict do nothing;
end
$$;
comment on function ops.refresh_new_to_pricing(int[], bigint[]) is 'Calculates ops.new_to_pricing again for some evaluations.';

create function ops.new_to_pricing_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from ops.new_to_pricing;
    insert into ops.new_to_pricing select * from ops.new_to_pricing_facts;
  elsif tg_op = 'UPDATE' and tg_table_name = 'evaluation' then
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id))
    from (select rooftop_id, eval_id from before union select rooftop_id, eval_id from changed) as touched having count(*) > 0;
  elsif tg_op = 'UPDATE' then
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id))
    from (
      select rooftop_id, eval_id from before where stream = 'pricing' union select rooftop_id, eval_id from changed where stream = 'pricing'
    ) as touched
    having count(*) > 0;
  elsif tg_table_name = 'evaluation' then
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from changed having count(*) > 0;
  else
    perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from changed where stream = 'pricing' having count(*) > 0;
  end if;
  return null;
end
$$;
comment on function ops.new_to_pricing_trg() is 'Calculates ops.new_to_pricing again for the evaluations of a statement, or for all.';

create trigger new_to_pricing_insert after insert on core.evaluation referencing new table as changed for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_update after update on core.evaluation referencing old table as before new table as changed for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_delete after delete on core.evaluation referencing old table as changed for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_truncate after truncate on core.evaluation for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_insert after insert on ops.enrichment_state referencing new table as changed for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_update after update on ops.enrichment_state referencing old table as before new table as changed for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_delete after delete on ops.enrichment_state referencing old table as changed for each statement execute function ops.new_to_pricing_trg();
create trigger new_to_pricing_truncate after truncate on ops.enrichment_state for each statement execute function ops.new_to_pricing_trg();

insert into ops.new_to_pricing select * from ops.new_to_pricing_facts;

create index evaluation_newest on core.evaluation (rooftop_id, (coalesce(completed_at, created_at)));
create index enrichment_made_due on ops.enrichment_state (rooftop_id, stream) where next_due_at = '-infinity';
create index vehicle_check_status on core.vehicle_check (group_id, watch_status, watch_ends_at) where check_kind = 'ppsr' and gone_at is null;
drop index pii.signed_link_expiry;
create index signed_link_expiry on pii.signed_link (expires_at, rooftop_id);
create index billable_call_paid on ops.billable_call (rooftop_id, at) where state = 'committed';
