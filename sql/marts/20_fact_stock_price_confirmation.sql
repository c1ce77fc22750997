-- grain: one row per unit, price source and different answer
create or replace view mart.fact_stock_price_confirmation as
select
  p.rooftop_id,
  p.stock_no,
  p.price_source,
  p.observed_at,
  p.last_confirmed_at
from core.stock_price_observation as p;

comment on view mart.fact_stock_price_confirmation is 'When each price of fact_stock_price_observation was last confirmed: apart, as fact_price_confirmation. | grain: one row per unit, price source and different answer | key: rooftop_id, stock_no, price_source, observed_at | history: complete | freshness: as of the last good run of stock-prices: see data_freshness';
comment on column mart.fact_stock_price_confirmation.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_stock_price_confirmation.stock_no is 'Unit | unit: text | source: core.stock_price_observation.stock_no';
comment on column mart.fact_stock_price_confirmation.price_source is 'price_batch: the price batch of the vehicle-data service | unit: text | source: core.stock_price_observation.price_source';
comment on column mart.fact_stock_price_confirmation.observed_at is 'First answer with these prices | unit: instant in UTC | source: core.stock_price_observation.observed_at';
comment on column mart.fact_stock_price_confirmation.last_confirmed_at is 'Last answer with the same prices | unit: instant in UTC | source: core.stock_price_observation.last_confirmed_at';
