-- The nightly job "verify" compares the stored records with the windows that were listed since the night before, and with a share of the
-- others, by the same rounds as the values of the rows; and the sums of the reports with the rows, by month.
alter table ops.value_check add column kind varchar(8) not null default 'values' check (kind in ('values', 'ids', 'sums')),
  add column listed_through timestamptz, drop constraint value_check_pkey, add primary key (rooftop_id, stream, kind);
alter table ops.value_check alter column kind drop default;
comment on table ops.value_check is 'How far a rooftop and stream were verified, in the order of their keys: the values of the rows with the stored payloads, record by record; the stored records and counts with the certificates, window by window; the sums of the reports with the rows, month by month.';
comment on column ops.value_check.kind is 'values: rows and payloads, by record; ids: records and certificates, by the start of the window; sums: by the month of completion';
comment on column ops.value_check.round_records is 'Records with payloads, windows, or months, when the round began';
comment on column ops.value_check.last_key is 'The last key of the round that was compared; empty: none yet';
comment on column ops.value_check.full_since is 'Everything was compared at this time or later: the start of the last round that reached the end, or of a "forecourt verify" that compares all of it; null: not yet';
comment on column ops.value_check.listed_through is 'Windows that were listed until then (source time), or months that had not ended long before, have been compared, beside the round; null: none';

alter table ops.value_difference add column kind varchar(8) not null default 'values' check (kind in ('values', 'ids', 'counts', 'sums')),
  drop constraint value_difference_pkey, add primary key (rooftop_id, stream, kind, record_key);
alter table ops.value_difference alter column kind drop default;
comment on table ops.value_difference is 'Records whose rows are not what their payloads make, windows whose records or counts are not what was listed, and months whose sums are not those of the rows, until a later comparison finds them equal.';
comment on column ops.value_difference.kind is 'values: of a record; ids: stored records of a window differ from its list; counts: those of its certificate from its ids; sums: of a month from the rows';
comment on column ops.value_difference.compare_keys is 'What to compare again: the record or window, or those that were compared together with it';
comment on column ops.value_difference.difference is 'The first row and its columns, without values; or the ids';

insert into ops.value_check (rooftop_id, stream, kind, round_started_at, round_records, full_since)
select rooftop_id, stream, 'ids', verified_at, 0, verified_at from ops.verification as v
where exists (select from ops.window_certificate as listed where (listed.rooftop_id, listed.stream) = (v.rooftop_id, v.stream));

drop function core.agg_differences(int);
create function core.agg_differences(only_rooftop int default null, only_months date[] default null)
returns table (aggregate varchar(40), rooftop_id int, completed_date_local date)
language plpgsql stable as $$
#variable_conflict use_column
declare
  part record;
  until date;
  facts core.agg_appraisal[];
begin
  for part in
    select * from core.agg_months(only_rooftop) as m where only_months is null or m.month_start = any(only_months)
  loop
    until := part.month_start + interval '1 month';
    facts := array(select fact from core.appraisals_of_month(part.rooftop_id, part.month_start) as fact);
    return query
    select 'agg_appraisal'::varchar(40), fact.rooftop_id, fact.completed_date_local
    from unnest(facts) as fact left join core.agg_appraisal as stored using (group_id, eval_id)
    where stored is distinct from fact
    union
    -- A stored row that another rooftop or month should have is reported there.
    select 'agg_appraisal', stored.rooftop_id, stored.completed_date_local
    from (
      select * from core.agg_appraisal as listed
      where listed.rooftop_id = part.rooftop_id and listed.month_start = part.month_start
        and (listed.group_id, listed.eval_id) not in (select fact.group_id, fact.eval_id from unnest(facts) as fact)
    ) as stored
    where not exists (
      select from core.appraisals(array[stored.group_id], array[stored.eval_id]) as fact
      where only_rooftop is null or fact.rooftop_id = only_rooftop)
    union
    select 'agg_evaluation_day', rooftop_id, completed_date_local
    from (select * from core.agg_evaluation_day as a
      where a.rooftop_id = part.rooftop_id and a.completed_date_local >= part.month_start and a.completed_date_local < until) as stored
    full join core.evaluation_days(facts) as fact using (rooftop_id, completed_date_local, user_id, currency_code)
    where stored is distinct from fact
    union
    select 'agg_recon_day', rooftop_id, completed_date_local
    from (select * from core.agg_recon_day as a
      where a.rooftop_id = part.rooftop_id and a.completed_date_local >= part.month_start and a.completed_date_local < until) as stored
    full join core.recon_days(facts) as fact using (rooftop_id, completed_date_local, recon_type, currency_code)
    where stored is distinct from fact
    union
    select 'agg_pricing_day', rooftop_id, completed_date_local
    from (select * from core.agg_pricing_day as a
      where a.rooftop_id = part.rooftop_id and a.completed_date_local >= part.month_start and a.completed_date_local < until) as stored
    full join core.pricing_days(facts) as fact using (rooftop_id, completed_date_local)
    where stored is distinct from fact;
  end loop;
end
$$;
comment on function core.agg_differences(int, date[]) is 'Days with a stored row or sum that differs from the facts, of one rooftop or of all, of some months of completion or of all. Any row is a defect; core.agg_rebuild repairs it.';
