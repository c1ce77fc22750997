-- A link or a PDF that is stored while an erasure ends did not see it: the row waits for the erasure's commit (lock `erasure`).

create or replace function pii.skip_erased_rows_trg() returns trigger
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock_shared(7307, 0);
  if exists (
    select from pii.suppressed_evaluation as suppressed
    join core.rooftop using (group_id)
    where rooftop_id = new.rooftop_id and suppressed.eval_id = new.eval_id and scope = 'customer'
  ) then
    if tg_table_name = 'archived_pdf' then
      insert into pii.erasure_file (sha256) values (new.sha256) on conflict do nothing;
    end if;
    return null;
  end if;
  return new;
end
$$;
