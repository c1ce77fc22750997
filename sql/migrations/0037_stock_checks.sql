-- A part of a dropped file stores what its check found, as an upload does. Commands, reports and alerts have the words.
alter table ops.stock_inbox_part add column result jsonb;
update ops.stock_inbox_part set result = jsonb_build_object('state', 'refused', 'mode', 'snapshot', 'newest', 0, 'encoding', '', 'delimiter', '',
  'mapping', null, 'first', null, 'refusals', jsonb_build_array(jsonb_build_object('is', 'unreadable', 'why', concat_ws(E'\n', reason, 'If the list is right: ' || command))), 'report', null)
where outcome = 'refused';
alter table ops.stock_inbox_part drop column reason, drop column command;
comment on column ops.stock_inbox_part.result is 'What the check found in a refused list, without its rows; null: it was imported';
comment on column ops.stock_upload.result is 'What the check found, as of newest_import_id';
-- An earlier version stored words. Without a result, the page offers to check the list again.
update ops.stock_upload set result = null where import_id is null;
