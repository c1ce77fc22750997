-- grain: one row per vehicle of a dealer group, by VIN
create or replace view mart.dim_vehicle as
select
  v.vehicle_key,
  v.group_id,
  v.vin,
  (v.vin ~ '^[A-HJ-NPR-Z0-9]{17}$') as is_vin_well_formed,
  v.make,
  v.model,
  v.variant,
  v.model_year,
  v.colour,
  v.evaluations,
  v.is_in_stock,
  v.first_seen_at,
  v.last_seen_at
from core.vehicle as v;

comment on view mart.dim_vehicle is 'Vehicles that were appraised or are in stock, one row per VIN of 17 characters and dealer group. The description is from the newest evaluation or stock list that has one. vehicle_key and vin have an index. | grain: one row per vehicle of a dealer group, by VIN | key: vehicle_key | history: current state only | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.dim_vehicle.vehicle_key is 'Dealer group and VIN in one column | unit: id | source: group_id and vin';
comment on column mart.dim_vehicle.group_id is 'Dealer group | unit: id | source: core.rooftop.group_id';
comment on column mart.dim_vehicle.vin is 'VIN in capitals | unit: text | source: core.evaluation.vin [A §2 VIN], core.stock_unit.vin';
comment on column mart.dim_vehicle.is_vin_well_formed is 'true: the VIN has only letters and digits that a VIN may have | unit: flag | source: vin';
comment on column mart.dim_vehicle.make is 'Make | unit: text | source: core.evaluation.make, core.stock_unit.make';
comment on column mart.dim_vehicle.model is 'Model | unit: text | source: core.evaluation.model, core.stock_unit.model';
comment on column mart.dim_vehicle.variant is 'Variant | unit: text | source: core.evaluation.variant, core.stock_unit.variant';
comment on column mart.dim_vehicle.model_year is 'Model year | unit: year | source: core.evaluation.model_year, core.stock_unit.model_year';
comment on column mart.dim_vehicle.colour is 'Exterior colour | unit: text | source: core.evaluation.colour';
comment on column mart.dim_vehicle.evaluations is 'Evaluations of the vehicle, including those that the service no longer shows | unit: count | source: core.evaluation';
comment on column mart.dim_vehicle.is_in_stock is 'true: in stock at a rooftop of the group; false without a stock list | unit: flag | source: core.stock_unit.off_stock_at';
comment on column mart.dim_vehicle.first_seen_at is 'First evaluation or stock list | unit: instant in UTC | source: core.evaluation.created_at, core.stock_unit.first_seen_at';
comment on column mart.dim_vehicle.last_seen_at is 'Newest evaluation, or first stock list of its newest unit | unit: instant in UTC | source: core.evaluation.created_at, core.stock_unit.first_seen_at';
