-- The local days of a rooftop follow its time zone. The evaluations come first: their triggers lock the vehicles before the days,
-- as a load does.
create or replace function core.refresh_local_days_trg() returns trigger language plpgsql as $$
begin
  update core.evaluation as e
  set created_date_local = (e.created_at at time zone new.time_zone)::date,
    completed_date_local = (e.completed_at at time zone new.time_zone)::date
  where e.rooftop_id = new.rooftop_id
    and (e.created_date_local, e.completed_date_local) is distinct from
      ((e.created_at at time zone new.time_zone)::date, (e.completed_at at time zone new.time_zone)::date);
  perform core.lock_days(array[new.rooftop_id]);
  -- Also for evaluations whose own days stay the same: the day on which a price was confirmed may change.
  perform core.update_pricing_days(array_agg(one.rooftop_id), array_agg(one.eval_id))
  from core.agg_pricing_evaluation as one where one.rooftop_id = new.rooftop_id;
  return null;
end
$$;
comment on function core.refresh_local_days_trg() is 'After the time zone of a rooftop changed: recalculates its local days and their sums.';
