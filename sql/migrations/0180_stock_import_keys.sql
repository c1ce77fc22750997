-- One tree instead of two: an import belongs to one rooftop, so the key is as unique in this order, and serves whoever looks a unit
-- up. The changes of an import stand together on disk, where a BRIN finds them.
drop index core.stock_unit_change_unit;
alter table core.stock_unit_change drop constraint stock_unit_change_pkey;
alter table core.stock_unit_change add primary key (rooftop_id, stock_no, import_id);
create index stock_unit_change_import on core.stock_unit_change using brin (import_id);

-- Few units are missing: no import reads all of a rooftop's stock to find those whose days of grace are over.
create index stock_unit_missing on core.stock_unit (rooftop_id, missing_since)
  where missing_since is not null and off_stock_at is null;
