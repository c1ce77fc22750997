-- A list that a drop folder refused waits among the uploads of the console, so that a person opens it at its columns.
alter table ops.stock_upload add column inbox_file_id bigint;
create unique index stock_upload_inbox_file on ops.stock_upload (inbox_file_id) where inbox_file_id is not null;
comment on table ops.stock_upload is 'Stock lists that were uploaded in the console, or that a drop folder refused. One that is not imported before ends_at is deleted; the row of an imported one stays without its content.';
comment on column ops.stock_upload.inbox_file_id is 'The file of ops.stock_inbox_file that was refused; null: a person uploaded it';
