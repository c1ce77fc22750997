-- The job "verify" compares ops.new_to_pricing with its definition too, by record: rows written while triggers were off are found.
alter table ops.value_difference drop constraint value_difference_kind_check,
  add check (kind in ('values', 'ids', 'counts', 'sums', 'orphans', 'duplicates', 'vehicles', 'due'));
comment on table ops.value_difference is 'Records whose rows are not what their payloads make, or that are missing or twice, windows whose records or counts are not what was listed, months whose sums are not those of the rows, vehicles that are not those of the evaluations and units, and evaluations that are wrongly due, until a later comparison finds them equal.';
comment on column ops.value_difference.kind is 'values: of a record; ids: stored records of a window differ from its list; counts: those of its certificate from its ids; sums: of a month from the rows; orphans: child rows whose record is missing; duplicates: an evaluation that is stored under another rooftop too; vehicles: a row of core.vehicle or core.agg_repeat_vehicle; due: a row of ops.new_to_pricing';

create function ops.new_to_pricing_differences(only_rooftop int default null, only_evals bigint[] default null)
returns table (rooftop_id int, eval_id bigint, is_missing boolean)
language sql stable as $$
  select rooftop_id, eval_id, stored.is_stored is null
  from (
    select rooftop_id, eval_id, true as is_stored from ops.new_to_pricing as n
    where (only_rooftop is null or n.rooftop_id = only_rooftop) and (only_evals is null or n.eval_id = any(only_evals))
  ) as stored
  full join (
    select rooftop_id, eval_id, true as is_due from ops.new_to_pricing_facts as f
    where (only_rooftop is null or f.rooftop_id = only_rooftop) and (only_evals is null or f.eval_id = any(only_evals))
  ) as fact using (rooftop_id, eval_id)
  where is_stored is null or is_due is null
$$;
comment on function ops.new_to_pricing_differences(int, bigint[]) is 'Evaluations with a row too many or too few in ops.new_to_pricing, of one rooftop or of all, of some evaluations or of all. Any row is a defect; ops.new_to_pricing_rebuild repairs it.';

create function ops.new_to_pricing_rebuild(only_rooftop int) returns void language plpgsql as $$
begin
  -- Whoever writes a state holds its evaluation. What the one before has committed is seen by the next statement only.
  perform from core.evaluation where (rooftop_id, eval_id) in (select rooftop_id, eval_id from ops.new_to_pricing_differences(only_rooftop))
    order by rooftop_id, eval_id for update;
  perform ops.refresh_new_to_pricing(array_agg(rooftop_id), array_agg(eval_id)) from ops.new_to_pricing_differences(only_rooftop) having count(*) > 0;
end
$$;
comment on function ops.new_to_pricing_rebuild(int) is 'Calculates the wrong rows of ops.new_to_pricing of a rooftop again: repairs what ops.new_to_pricing_differences reports.';

-- One time of the night is shared by all that the job compares. What has changed is compared in slices too, so it also has a position.
alter table ops.value_check add column changed_key text not null default '', add column changed_through timestamptz;
comment on column ops.value_check.changed_key is 'The last key that was compared of what has changed and of what differed, where the night ended before all of them were; empty otherwise';
comment on column ops.value_check.changed_through is 'What listed_through becomes once all of those are compared; null: none are under way';

-- A night finds the windows that it lists again by index: until now it read every certificate of the rooftop in each slice.
alter table ops.window_certificate add column relist_nights int not null default 28;
comment on column ops.window_certificate.relist_nights is 'sync.deepRelistNights when it was listed';
create function ops.relist_day(window_from timestamptz, listed_at timestamptz, nights int) returns bigint
language sql immutable as $$
  select case when isfinite(listed_at) then listed + 1 + mod(nights + mod(start - listed - 1, nights), nights) else 0 end
  from (select floor(extract(epoch from window_from) / 86400)::bigint as start,
    floor(extract(epoch from case when isfinite(listed_at) then listed_at else window_from end) / 86400)::bigint as listed) as days
$$;
comment on function ops.relist_day(timestamptz, timestamptz, int) is 'The first day (UTC, since 1970) after a listing on which a window has its turn of some nights: each day has the windows whose first day is as many nights away as a multiple of these.';
create index window_certificate_relist on ops.window_certificate (rooftop_id, stream, relist_nights, ops.relist_day(window_from, listed_at, relist_nights)) where settled;
create index window_certificate_quarantined on ops.window_certificate (rooftop_id, stream) where quarantined > 0;
alter table ops.coverage add column uncertified tstzmultirange not null default '{}';
comment on column ops.coverage.uncertified is 'Covered, but by no settled certificate when it was last verified, and not listed since: a sync lists it again';
