-- New evaluations were looked up again, one by one, to find which of them Pricing AI can price. While their table is new, Postgres has no
-- statistics of it and read all rows of the rooftop for each: the first slices of a first load took 150 ms each for it, and 20,000 evaluations
-- in one COPY 29 s. Their rows are at hand where they are inserted.
create function ops.is_new_to_pricing(gone_at timestamptz, completed_at timestamptz, odometer int, updated_at timestamptz, asked_at timestamptz)
returns boolean language sql immutable as $$
  select gone_at is null and completed_at is not null and odometer is not null and (asked_at is null or updated_at > asked_at)
$$;
comment on function ops.is_new_to_pricing(timestamptz, timestamptz, int, timestamptz, timestamptz) is 'Whether Pricing AI can price an evaluation and was not asked about it (asked_at null), or not since it was edited.';

create or replace view ops.new_to_pricing_facts as
select evaluation.rooftop_id, evaluation.eval_id
from core.evaluation
left join ops.enrichment_state as state on state.rooftop_id = evaluation.rooftop_id and state.stream = 'pricing'
  and state.eval_id = evaluation.eval_id and state.ask = 'pricingAi'
where ops.is_new_to_pricing(gone_at, completed_at, odometer, source_updated_at, last_asked_at);

create or replace function ops.new_to_pricing_trg() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from ops.new_to_pricing;
    insert into ops.new_to_pricing select * from ops.new_to_pricing_facts;
  elsif tg_op = 'INSERT' and tg_table_name = 'evaluation' then
    insert into ops.new_to_pricing
    select changed.rooftop_id, changed.eval_id
    from changed
    -- offset 0: one lookup for each, whatever the statistics are.
    left join lateral (
      select last_asked_at from ops.enrichment_state as state
      where (state.rooftop_id, state.stream, state.eval_id, state.ask) = (changed.rooftop_id, 'pricing', changed.eval_id, 'pricingAi') offset 0
    ) as asked on true
    where ops.is_new_to_pricing(gone_at, completed_at, odometer, source_updated_at, last_asked_at)
    order by 1, 2 on conflict do nothing;
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
