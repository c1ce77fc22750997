-- One B-tree instead of two: an import belongs to one rooftop, so the key is also unique in this order, and it serves queries by
-- unit. The changes of an import are stored together, so a BRIN index finds them.
drop index core.stock_unit_change_unit;
alter table core.stock_unit_change drop constraint stock_unit_change_pkey;
alter table core.stock_unit_change add primary key (rooftop_id, stock_no, import_id);
create index stock_unit_change_import on core.stock_unit_change using brin (import_id);

-- Few units are missing: with this index an import finds those whose days of grace are over without reading the whole stock.
create index stock_unit_missing on core.stock_unit (rooftop_id, missing_since)
  where missing_since is not null and off_stock_at is null;
