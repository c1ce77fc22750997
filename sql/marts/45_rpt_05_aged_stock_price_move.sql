-- grain: one row per unit on hand that has been in stock for 45 days or more
create or replace view mart.rpt_05_aged_stock_price_move as
select
  s.rooftop_id,
  r.rooftop_name,
  s.stock_no,
  s.vin,
  s.make,
  s.model,
  s.model_year,
  d.acquired_on,
  case when s.acquired_on is not null then d.days_at_least end as days_in_stock,
  s.currency_code,
  a.asking_price_first::numeric(15,3) as asking_price_first,
  s.asking_price as asking_price_now,
  (case when a.is_comparable then a.asking_price_first - s.asking_price end)::numeric(18,3) as own_cut,
  a.price_changes,
  f.retail as market_retail_first,
  n.retail as market_retail_now,
  (case when n.priced_at > f.observed_at then n.retail - f.retail end)::numeric(18,3) as market_move,
  case when n.retail is not null then n.priced_at end as market_as_of,
  (case when s.asking_price is not null and n.retail <> 0 then least(greatest(s.asking_price / n.retail, -999.9999), 999.9999) end)::numeric(7,4) as asking_to_market_share
from core.stock_unit as s
join core.rooftop as r using (rooftop_id)
cross join lateral (
  select acquired_on, (now() at time zone r.time_zone)::date - acquired_on as days_at_least
  from (select coalesce(s.acquired_on, (s.first_seen_at at time zone r.time_zone)::date) as acquired_on) as came
) as d
left join core.stock_asking_price as a using (rooftop_id, stock_no)
left join lateral (
  select p.retail, p.observed_at
  from core.stock_price_observation as p
  where p.rooftop_id = s.rooftop_id and p.stock_no = s.stock_no and p.price_source = 'price_batch'
    and p.currency_code = s.currency_code and p.retail is not null and coalesce(upper(p.vin) = upper(s.vin), true) and (p.observed_at > s.first_seen_at - interval '1 hour' or p.is_current)
    and not exists (
      select from core.stock_price_observation as other
      where other.rooftop_id = p.rooftop_id and other.stock_no = p.stock_no and other.price_source = p.price_source
        and other.observed_at > p.observed_at and upper(other.vin) <> upper(s.vin)
    )
  order by p.observed_at
  limit 1
) as f on true
left join core.stock_market_price as n on n.rooftop_id = s.rooftop_id and n.stock_no = s.stock_no
where s.off_stock_at is null and d.days_at_least >= 45;

comment on view mart.rpt_05_aged_stock_price_move is 'Aged stock: how much the dealer reduced the price, and how the market price changed since. "Today" is in the time zone of the rooftop. No rows without a stock list; market columns are null without price-batch. | grain: one row per unit on hand that has been in stock for 45 days or more | key: rooftop_id, stock_no | history: first and current prices | freshness: stock as of the newest import, market as of market_as_of';
comment on column mart.rpt_05_aged_stock_price_move.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.rpt_05_aged_stock_price_move.rooftop_name is 'Name of the rooftop | unit: text | source: core.rooftop.rooftop_name';
comment on column mart.rpt_05_aged_stock_price_move.stock_no is 'Stock number; the VIN where the list has none | unit: text | source: core.stock_unit.stock_no';
comment on column mart.rpt_05_aged_stock_price_move.vin is 'VIN as listed | unit: text | source: core.stock_unit.vin';
comment on column mart.rpt_05_aged_stock_price_move.make is 'Make | unit: text | source: core.stock_unit.make';
comment on column mart.rpt_05_aged_stock_price_move.model is 'Model | unit: text | source: core.stock_unit.model';
comment on column mart.rpt_05_aged_stock_price_move.model_year is 'Model year | unit: year | source: core.stock_unit.model_year';
comment on column mart.rpt_05_aged_stock_price_move.acquired_on is 'Day on which the unit came in: as listed, else the day of its first list | unit: date | source: core.stock_unit.acquired_on, first_seen_at | joins: dim_date.date_day';
comment on column mart.rpt_05_aged_stock_price_move.days_in_stock is 'Days from acquired_on to today; null: the lists have no date in stock, so that it is not known how long the unit was there before its first list | unit: days | source: core.stock_unit.acquired_on';
comment on column mart.rpt_05_aged_stock_price_move.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.stock_unit.currency_code';
comment on column mart.rpt_05_aged_stock_price_move.asking_price_first is 'First asking price in the lists that have the unit | unit: currency_code | source: core.stock_asking_price.asking_price_first';
comment on column mart.rpt_05_aged_stock_price_move.asking_price_now is 'Asking price now; null: none, or on application | unit: currency_code | source: core.stock_unit.asking_price';
comment on column mart.rpt_05_aged_stock_price_move.own_cut is 'asking_price_first - asking_price_now. Above 0: the dealer reduced the price; null: not known, as only one list of the whole stock has the unit with a price, or it has none now | unit: currency_code | source: asking_price_first, asking_price_now, core.stock_import';
comment on column mart.rpt_05_aged_stock_price_move.price_changes is 'Number of changes of the asking price since then | unit: count | source: core.stock_asking_price.price_changes';
comment on column mart.rpt_05_aged_stock_price_move.market_retail_first is 'First retail price of price-batch for this vehicle in this currency. Prices of a vehicle that had the stock number before do not count | unit: currency_code | source: core.stock_price_observation.retail [V /v1/price-batch]';
comment on column mart.rpt_05_aged_stock_price_move.market_retail_now is 'Retail price of the newest answer; null when it had no price | unit: currency_code | source: core.stock_price_observation.retail, is_current';
comment on column mart.rpt_05_aged_stock_price_move.market_move is 'market_retail_now - market_retail_first; null: not known, as the service has given one price alone | unit: currency_code | source: market_retail_first, market_retail_now';
comment on column mart.rpt_05_aged_stock_price_move.market_as_of is 'When market_retail_now was last confirmed | unit: instant in UTC | source: core.stock_price_observation.last_confirmed_at';
comment on column mart.rpt_05_aged_stock_price_move.asking_to_market_share is 'asking_price_now / market_retail_now; null when market_retail_now is 0. Limited to 999.9999 | unit: share, 1 is the market price | source: asking_price_now, market_retail_now';
