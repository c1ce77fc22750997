-- Stores the fields that a person marked as absent. A null among the columns may be a failed guess, which must not hide a column in
-- the next list.

alter table ops.stock_mapping add column absent jsonb;
comment on column ops.stock_mapping.absent is 'Fields that a person marked as absent from the list; null: the mapping is older than this column, and its unmapped columns are examined again.';
comment on column ops.stock_mapping.columns is 'Field by position of the column; null: unknown in this list, which does not decide about the next list.';
