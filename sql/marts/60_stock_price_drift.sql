-- grain: one row per unit of the stock lists and change of its asking price or its market price
create or replace view mart.stock_price_drift as
with own as not materialized (
  select c.rooftop_id, c.stock_no, c.import_id, i.imported_at as at,
    (c.changes -> 'asking_price' ->> 0)::numeric(15,3) as was, (c.changes -> 'asking_price' ->> 1)::numeric(15,3) as became
  from core.stock_unit_change as c
  join core.stock_import as i on i.import_id = c.import_id and i.rooftop_id = c.rooftop_id
  left join (
    select rooftop_id, stock_no, max(import_id) as import_id from core.stock_unit_change where change = 'added' or changes ?| array['currency_code', 'first_seen_at'] group by rooftop_id, stock_no
  ) as since on since.rooftop_id = c.rooftop_id and since.stock_no = c.stock_no
  where c.changes ? 'asking_price' and c.import_id > coalesce(since.import_id, 0)
), event as (
  select s.rooftop_id, s.stock_no, greatest(s.first_seen_at, since.at) as at, true as is_asking,
    case when o.import_id is null then s.asking_price else o.was end as asking, null::numeric(15,3) as retail
  from core.stock_unit as s
  left join (
    select distinct on (rooftop_id, stock_no) rooftop_id, stock_no, import_id, was from own order by rooftop_id, stock_no, import_id
  ) as o using (rooftop_id, stock_no)
  cross join lateral (
    select max(i.imported_at) as at from core.stock_unit_change as c join core.stock_import as i on i.import_id = c.import_id
    where c.rooftop_id = s.rooftop_id and c.stock_no = s.stock_no and c.changes ? 'currency_code'
  ) as since
  union all
  select rooftop_id, stock_no, at, true, became, null from own
  union all
  select rooftop_id, stock_no, observed_at, false, null, retail
  from (
    select rooftop_id, stock_no, greatest(observed_at, first_seen_at) as observed_at, retail, count(retail) over (partition by rooftop_id, stock_no order by observed_at) as prices
    from (
      select p.rooftop_id, p.stock_no, p.observed_at, s.first_seen_at, p.is_current, case when p.currency_code = s.currency_code then p.retail end as retail,
        max(p.observed_at) filter (where upper(p.vin) <> upper(s.vin)) over (partition by p.rooftop_id, p.stock_no) as other_vehicle_until
      from core.stock_price_observation as p
      join core.stock_unit as s using (rooftop_id, stock_no)
      where p.price_source = 'price_batch'
    ) as answer
    -- Older answers are of an earlier stay, but for the one that still holds. The clock of the service may be behind.
    where (observed_at > first_seen_at - interval '1 hour' or is_current) and coalesce(observed_at > other_vehicle_until, true)
  ) as priced
  -- Until the first price an answer shows nothing.
  where prices > 0
), moment as (
  select rooftop_id, stock_no, at, max(asking) as asking, max(retail) as retail,
    sum(count(*) filter (where is_asking)) over earlier as asking_no, sum(count(*) filter (where not is_asking)) over earlier as retail_no
  from event
  group by rooftop_id, stock_no, at
  window earlier as (partition by rooftop_id, stock_no order by at)
), state as (
  select rooftop_id, stock_no, at,
    max(asking) over (partition by rooftop_id, stock_no, asking_no) as asking_price,
    max(retail) over (partition by rooftop_id, stock_no, retail_no) as market_retail
  from moment
), shown as (
  select rooftop_id, stock_no, at, asking_price, market_retail,
    row_number() over earlier as state_no, lag(asking_price) over earlier as asking_before, lag(market_retail) over earlier as market_before
  from state
  window earlier as (partition by rooftop_id, stock_no order by at)
), step as (
  select rooftop_id, stock_no, at, asking_price, market_retail, asking_before, market_before,
    row_number() over later as step_no, lead(at) over later as until,
    first_value(asking_price) over (partition by rooftop_id, stock_no order by asking_price is null, at) as asking_first,
    first_value(market_retail) over (partition by rooftop_id, stock_no order by market_retail is null, at) as market_first
  from shown
  where state_no = 1 or (asking_price, market_retail) is distinct from (asking_before, market_before)
  window later as (partition by rooftop_id, stock_no order by at)
)
select
  s.rooftop_id,
  r.rooftop_name,
  s.stock_no,
  s.vin,
  s.make,
  s.model,
  s.model_year,
  s.off_stock_at is null as is_on_hand,
  t.step_no::int as step_no,
  t.at as moved_at,
  (t.at at time zone r.time_zone)::date as moved_on,
  t.until as moved_again_at,
  t.until is null as is_current,
  case when s.acquired_on is not null then greatest((t.at at time zone r.time_zone)::date - s.acquired_on, 0) end as days_in_stock,
  s.currency_code,
  t.asking_price::numeric(15,3) as asking_price,
  (t.asking_price - t.asking_before)::numeric(18,3) as asking_move,
  (t.asking_price - t.asking_first)::numeric(18,3) as asking_drift,
  t.market_retail::numeric(15,3) as market_retail,
  (t.market_retail - t.market_before)::numeric(18,3) as market_move,
  (t.market_retail - t.market_first)::numeric(18,3) as market_drift,
  (case when t.market_retail is not null and t.market_first <> 0 then least(greatest((t.market_retail - t.market_first) / t.market_first, -999.9999), 999.9999) end)::numeric(7,4) as market_drift_share,
  (case when t.asking_price is not null and t.market_retail <> 0 then least(greatest(t.asking_price / t.market_retail, -999.9999), 999.9999) end)::numeric(7,4) as asking_to_market_share
from step as t
join core.stock_unit as s using (rooftop_id, stock_no)
join core.rooftop as r using (rooftop_id);

comment on view mart.stock_price_drift is 'How the asking price and the market price of each unit changed: whether the dealer followed the market, when, and by how much. No rows without stock lists; market columns are null without price-batch. | grain: one row per unit of the stock lists and change of its asking price or its market price | key: rooftop_id, stock_no, step_no | history: complete since the unit came in; a reused stock number starts again, and so does a vehicle that was off stock | freshness: stock as of the newest import, market as of the last good run of stock-prices';
comment on column mart.stock_price_drift.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.stock_price_drift.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.stock_price_drift.stock_no is 'Stock number; the VIN where the list has none | unit: text | source: core.stock_unit.stock_no';
comment on column mart.stock_price_drift.vin is 'VIN as listed | unit: text | source: core.stock_unit.vin';
comment on column mart.stock_price_drift.make is 'Make | unit: text | source: core.stock_unit.make';
comment on column mart.stock_price_drift.model is 'Model | unit: text | source: core.stock_unit.model';
comment on column mart.stock_price_drift.model_year is 'Model year | unit: year | source: core.stock_unit.model_year';
comment on column mart.stock_price_drift.is_on_hand is 'true: in stock, including units in their days of grace | unit: flag | source: core.stock_unit.off_stock_at';
comment on column mart.stock_price_drift.step_no is 'Number of the change of the unit, from 1 | unit: number | source: moved_at';
comment on column mart.stock_price_drift.moved_at is 'Time of the import that changed the asking price, or of the answer that changed the market price. First row: the first of both; where the currency has changed, the asking price begins with the new one | unit: instant in UTC | source: core.stock_import.imported_at, core.stock_price_observation.observed_at';
comment on column mart.stock_price_drift.moved_on is 'Day of moved_at in the time zone of the rooftop | unit: date | source: moved_at | joins: dim_date.date_day';
comment on column mart.stock_price_drift.moved_again_at is 'Time of the next change; null: the prices are current | unit: instant in UTC | source: moved_at of the next row';
comment on column mart.stock_price_drift.is_current is 'true: the prices are current | unit: flag | source: moved_again_at';
comment on column mart.stock_price_drift.days_in_stock is 'Days from the day on which the unit came in to moved_on; null: the lists have no date in stock | unit: days | source: core.stock_unit.acquired_on';
comment on column mart.stock_price_drift.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.stock_unit.currency_code';
comment on column mart.stock_price_drift.asking_price is 'Asking price from moved_at on; null: none, or on application | unit: currency_code | source: core.stock_unit_change.changes, core.stock_unit.asking_price';
comment on column mart.stock_price_drift.asking_move is 'Difference from the row before; null when one of the two has no price | unit: currency_code | source: asking_price';
comment on column mart.stock_price_drift.asking_drift is 'Difference from the first asking price | unit: currency_code | source: asking_price';
comment on column mart.stock_price_drift.market_retail is 'Retail price of price-batch from moved_at on; null: none in this currency | unit: currency_code | source: core.stock_price_observation.retail [V /v1/price-batch]';
comment on column mart.stock_price_drift.market_move is 'Difference from the row before; null when one of the two has no price | unit: currency_code | source: market_retail';
comment on column mart.stock_price_drift.market_drift is 'Difference from the first market price of the unit | unit: currency_code | source: market_retail';
comment on column mart.stock_price_drift.market_drift_share is 'market_drift / first market price; null when the first market price is 0. Limited to 999.9999 | unit: share, -0.1 is 10 % down | source: market_drift';
comment on column mart.stock_price_drift.asking_to_market_share is 'asking_price / market_retail; null when market_retail is 0. Limited to 999.9999 | unit: share, 1 is the market price | source: asking_price, market_retail';
