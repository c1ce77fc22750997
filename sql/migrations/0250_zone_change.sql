-- A rooftop's local days follow its time zone. The evaluations first: their triggers take the locks of the vehicles before
-- those of the days, as a load does.
create or replace function core.keep_zone() returns trigger language plpgsql as $$
begin
  update core.evaluation as e
  set created_date_local = (e.created_at at time zone new.time_zone)::date,
    completed_date_local = (e.completed_at at time zone new.time_zone)::date
  where e.rooftop_id = new.rooftop_id
    and (e.created_date_local, e.completed_date_local) is distinct from
      ((e.created_at at time zone new.time_zone)::date, (e.completed_at at time zone new.time_zone)::date);
  perform core.lock_days(array[new.rooftop_id]);
  -- Also of evaluations whose own days stay: the day on which a price was confirmed may be another.
  perform core.update_pricing_days(array_agg(one.rooftop_id), array_agg(one.eval_id))
  from core.agg_pricing_evaluation as one where one.rooftop_id = new.rooftop_id;
  return null;
end
$$;
comment on function core.keep_zone() is 'After the time zone of a rooftop changed: its local days and their sums are calculated again.';
