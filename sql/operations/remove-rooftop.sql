-- Deletes every row of one rooftop, in one transaction. Run it as the owner of the warehouse, once the rooftop has left the config and
-- every process was restarted:
--   psql --set=ON_ERROR_STOP=1 --command="set forecourt.uid = '<uid>'" --file=sql/operations/remove-rooftop.sql "$DATABASE_URL"
-- Paid calls stay, since they say what was spent.
do $$
declare
  leaving constant varchar := current_setting('forecourt.uid');
  id int;
  sellers bigint[];
  part record;
begin
  select rooftop_id into id from core.rooftop where rooftop_uid = leaving;
  if id is null then
    raise exception 'no rooftop has the uid %', leaving;
  end if;
  -- Both lists and evaluations name salespeople.
  sellers := array(
    select user_id from core.app_user_rooftop where rooftop_id = id
    union select user_id from core.evaluation where rooftop_id = id
    union select user_id from core.evaluation_version where rooftop_id = id);
  delete from core.stock_import_row where import_id in (select import_id from core.stock_import where rooftop_id = id);
  delete from ops.price_batch_unit where batch_no in (select batch_no from ops.price_batch where rooftop_id = id);
  for part in
    select table_schema as schema, table_name as name
    from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where column_name = 'rooftop_id' and table_type = 'BASE TABLE' and table_schema in ('core', 'pii', 'raw', 'ops')
      and table_name not in ('rooftop', 'billable_call')
    order by table_name = 'evaluation', table_name
  loop
    execute format('delete from %I.%I where rooftop_id = $1', part.schema, part.name) using id;
  end loop;
  sellers := array(
    select unnest(sellers) except (
      select user_id from core.app_user_rooftop
      union select user_id from core.evaluation where user_id = any(sellers)
      union select user_id from core.evaluation_version where user_id = any(sellers)));
  delete from pii.app_user_email where user_id = any(sellers);
  delete from core.app_user where user_id = any(sellers);
  delete from core.rooftop where rooftop_id = id;
end
$$;
