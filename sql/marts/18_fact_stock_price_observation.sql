-- grain: one row per unit, price source and different answer
create or replace view mart.fact_stock_price_observation as
select
  p.rooftop_id,
  p.stock_no,
  p.price_source,
  p.observed_at,
  p.last_confirmed_at,
  p.is_current,
  p.vin,
  p.retail,
  p.retail_low,
  p.retail_high,
  p.wholesale,
  p.wholesale_low,
  p.wholesale_high,
  p.currency_code,
  p.error
from core.stock_price_observation as p;

comment on view mart.fact_stock_price_observation is 'Prices of stock units from price-batch. A row is added only when the answer differs from the one before. | grain: one row per unit, price source and different answer | key: rooftop_id, stock_no, price_source, observed_at | history: complete | freshness: as of the last good run of stock-prices: see data_freshness';
comment on column mart.fact_stock_price_observation.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_stock_price_observation.stock_no is 'Unit | unit: text | source: core.stock_price_observation.stock_no';
comment on column mart.fact_stock_price_observation.price_source is 'price_batch: the price batch of the vehicle-data service | unit: text | source: core.stock_price_observation.price_source';
comment on column mart.fact_stock_price_observation.observed_at is 'First answer with these prices | unit: instant in UTC | source: core.stock_price_observation.observed_at';
comment on column mart.fact_stock_price_observation.last_confirmed_at is 'Last answer with the same prices | unit: instant in UTC | source: core.stock_price_observation.last_confirmed_at';
comment on column mart.fact_stock_price_observation.is_current is 'true: the newest answer, also where it is of another vehicle or currency than the unit is now: fact_stock_unit.market_retail is the price of the unit | unit: flag | source: core.stock_price_observation.is_current';
comment on column mart.fact_stock_price_observation.vin is 'VIN of the unit when it was priced, because stock numbers are reused | unit: text | source: core.stock_price_observation.vin';
comment on column mart.fact_stock_price_observation.retail is 'Retail price | unit: currency_code | source: core.stock_price_observation.retail';
comment on column mart.fact_stock_price_observation.retail_low is 'Lower end of retail | unit: currency_code | source: core.stock_price_observation.retail_low';
comment on column mart.fact_stock_price_observation.retail_high is 'Upper end of retail | unit: currency_code | source: core.stock_price_observation.retail_high';
comment on column mart.fact_stock_price_observation.wholesale is 'Wholesale price | unit: currency_code | source: core.stock_price_observation.wholesale';
comment on column mart.fact_stock_price_observation.wholesale_low is 'Lower end of wholesale | unit: currency_code | source: core.stock_price_observation.wholesale_low';
comment on column mart.fact_stock_price_observation.wholesale_high is 'Upper end of wholesale | unit: currency_code | source: core.stock_price_observation.wholesale_high';
comment on column mart.fact_stock_price_observation.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
comment on column mart.fact_stock_price_observation.error is 'Why the unit could not be priced; null: it was priced | unit: text | source: core.stock_price_observation.error';
