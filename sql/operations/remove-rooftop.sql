-- Deletes every row of one rooftop. Run it as the owner of the warehouse, after the rooftop has left the config and every process was
-- restarted: psql -v ON_ERROR_STOP=1 -v uid=<uid> -f remove-rooftop.sql "$DATABASE_URL"
-- The triggers of core.evaluation and its prices keep the sums of the reports. Salespeople are deleted where they sell nowhere else.
begin;
select rooftop_id as id, group_id as group from core.rooftop where rooftop_uid = :'uid' \gset
create temporary table leaving on commit drop as
  select user_id from core.app_user_rooftop where rooftop_id = :id;
delete from core.stock_import_row where import_id in (select import_id from core.stock_import where rooftop_id = :id);
delete from ops.price_batch_unit where batch_no in (select batch_no from ops.price_batch where rooftop_id = :id);
-- The ledger of paid calls stays: it says what was spent.
select format('delete from %I.%I where rooftop_id = %s', table_schema, table_name, :id)
from information_schema.columns join information_schema.tables using (table_schema, table_name)
where column_name = 'rooftop_id' and table_type = 'BASE TABLE' and table_schema in ('core', 'pii', 'raw', 'ops')
  and table_name not like 'agg\_%' and (table_schema, table_name) not in (('core', 'rooftop'), ('ops', 'billable_call'))
order by table_name = 'evaluation', table_name \gexec
delete from pii.app_user_email where user_id in (select user_id from leaving) and user_id not in (select user_id from core.app_user_rooftop);
delete from core.app_user where user_id in (select user_id from leaving) and user_id not in (select user_id from core.app_user_rooftop);
delete from core.rooftop where rooftop_id = :id;
commit;
