-- grain: one row per rooftop
create or replace view mart.dim_rooftop as
select
  r.rooftop_id,
  r.rooftop_uid,
  r.dealer_id,
  r.rooftop_name,
  r.group_id,
  g.group_code,
  r.region,
  r.time_zone,
  r.currency_code,
  r.odometer_unit,
  r.left_config_at,
  l.listed_from as stock_listed_from,
  l.listed_to as stock_listed_to
from core.rooftop as r
join core.rooftop_group as g using (group_id)
left join core.stock_listed as l using (rooftop_id);

comment on view mart.dim_rooftop is 'The rooftops that are or were in the config with their dealer group, region, zone and units. | grain: one row per rooftop | key: rooftop_id | history: current state only | freshness: when a run starts';
comment on column mart.dim_rooftop.rooftop_id is 'Key of the rooftop in this warehouse; never reused | unit: id | source: core.rooftop.rooftop_id';
comment on column mart.dim_rooftop.rooftop_uid is 'Id of the rooftop at the appraisal service | unit: id | source: core.rooftop.rooftop_uid [A §1 X-Dealer-Id]';
comment on column mart.dim_rooftop.dealer_id is 'Numeric dealership id; null where the config names none | unit: id | source: core.rooftop.dealer_id';
comment on column mart.dim_rooftop.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name (config)';
comment on column mart.dim_rooftop.group_id is 'Key of the dealer group in this warehouse | unit: id | source: core.rooftop_group.group_id';
comment on column mart.dim_rooftop.group_code is 'Dealer group, as the config names it | unit: text | source: core.rooftop_group.group_code';
comment on column mart.dim_rooftop.region is 'AU, US or GCC | unit: text | source: core.rooftop.region';
comment on column mart.dim_rooftop.time_zone is 'IANA time zone in which the local dates of the rooftop are | unit: text | source: core.rooftop.time_zone';
comment on column mart.dim_rooftop.currency_code is 'Currency of the rooftop | unit: ISO 4217 | source: core.rooftop.currency_code';
comment on column mart.dim_rooftop.odometer_unit is 'Unit of odometers as the rooftop reads them: km or mi | unit: text | source: core.rooftop.odometer_unit';
comment on column mart.dim_rooftop.left_config_at is 'When a run found that the config no longer names the rooftop; null: the config names it | unit: instant in UTC | source: core.rooftop.left_config_at';
comment on column mart.dim_rooftop.stock_listed_from is 'First day of the month of its first list of the whole stock: what was bought before is not known; null: no such list was imported | unit: date | source: core.stock_import.imported_at | joins: dim_date.date_day';
comment on column mart.dim_rooftop.stock_listed_to is 'First day of the month of its newest list of the whole stock: what was bought later is not known; null: no such list was imported | unit: date | source: core.stock_import.imported_at | joins: dim_date.date_day';
