-- Proving and repairing sums holds the facts of one month of a rooftop at a time, however many evaluations the rooftop has.
create function core.agg_months(only_rooftop int) returns table (rooftop_id int, month_start date)
language sql stable as $$
  select rooftop_id, date_trunc('month', completed_date_local::timestamp)::date from core.evaluation
  where completed_date_local is not null and (only_rooftop is null or rooftop_id = only_rooftop)
  union select rooftop_id, month_start from core.agg_appraisal where only_rooftop is null or rooftop_id = only_rooftop
  union
  select rooftop_id, date_trunc('month', completed_date_local::timestamp)::date
  from (
    select rooftop_id, completed_date_local from core.agg_evaluation_day
    union select rooftop_id, completed_date_local from core.agg_recon_day
    union select rooftop_id, completed_date_local from core.agg_pricing_day
  ) as summed
  where only_rooftop is null or rooftop_id = only_rooftop
$$;
comment on function core.agg_months(int) is 'Months of completion that have evaluations or sums, of one rooftop or of all.';

create function core.appraisals_of_month(of_rooftop int, of_month date) returns setof core.agg_appraisal
language sql stable as $$
  select fact.*
  from (
    select array_agg(distinct group_id) as groups, array_agg(eval_id) as evals from core.evaluation
    where rooftop_id = of_rooftop and completed_date_local >= of_month and completed_date_local < of_month + interval '1 month'
  ) as completed
  cross join core.appraisals(completed.groups, completed.evals) as fact
  where fact.rooftop_id = of_rooftop
$$;
comment on function core.appraisals_of_month(int, date) is 'Rows of core.agg_appraisal for the evaluations of a rooftop that were completed in the month, calculated from the facts.';

create or replace function core.agg_differences(only_rooftop int default null)
returns table (aggregate varchar(40), rooftop_id int, completed_date_local date)
language plpgsql stable as $$
#variable_conflict use_column
declare
  part record;
  until date;
  facts core.agg_appraisal[];
begin
  for part in select * from core.agg_months(only_rooftop) loop
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

create or replace function core.agg_rebuild(only_rooftop int) returns void language plpgsql as $$
declare
  part record;
  facts core.agg_appraisal[];
begin
  -- No load may add its difference between the calculation and the commit.
  lock table core.agg_appraisal, core.agg_evaluation_day, core.agg_recon_day, core.agg_pricing_day in exclusive mode;
  delete from core.agg_appraisal where rooftop_id = only_rooftop;
  delete from core.agg_evaluation_day where rooftop_id = only_rooftop;
  delete from core.agg_recon_day where rooftop_id = only_rooftop;
  delete from core.agg_pricing_day where rooftop_id = only_rooftop;
  for part in select * from core.agg_months(only_rooftop) loop
    facts := array(select fact from core.appraisals_of_month(only_rooftop, part.month_start) as fact);
    -- Rows that are stored under another rooftop.
    delete from core.agg_appraisal as stored using unnest(facts) as fact
    where stored.group_id = fact.group_id and stored.eval_id = fact.eval_id;
    insert into core.agg_appraisal select * from unnest(facts);
    insert into core.agg_evaluation_day select * from core.evaluation_days(facts);
    insert into core.agg_recon_day select * from core.recon_days(facts);
    insert into core.agg_pricing_day select * from core.pricing_days(facts);
  end loop;
end
$$;
