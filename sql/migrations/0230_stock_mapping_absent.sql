-- "No column holds it" is remembered where a person has said so. A null among the columns may be a guess that failed: it
-- must not hide a column from the next list.

alter table ops.stock_mapping add column absent jsonb;
comment on column ops.stock_mapping.absent is 'Fields of which a person has said that no column holds them; null: the mapping was stored before that was recorded, and columns that it leaves out are looked at again.';
comment on column ops.stock_mapping.columns is 'Field by position of the column; null: unknown, which says nothing of what it is in the next list.';
