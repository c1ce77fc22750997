-- grain: one row per unit of the stock lists
create or replace view mart.fact_stock_unit as
select
  s.rooftop_id,
  s.stock_no,
  (case when length(s.vin) = 17 then r.group_id || '-' || upper(s.vin) end)::varchar(60) as vehicle_key,
  (o.eval_rooftop_id::text || '-' || o.eval_id::text)::varchar(32) as evaluation_key,
  o.match_rule,
  s.vin,
  s.adcode,
  s.plate,
  s.make,
  s.model,
  s.variant,
  s.model_year,
  s.odometer_km,
  a.asking_price_first,
  s.asking_price,
  a.price_changes,
  s.price_on_application as is_price_on_application,
  s.cost,
  s.currency_code,
  coalesce(s.acquired_on, (s.first_seen_at at time zone r.time_zone)::date) as acquired_on,
  s.off_stock_at is null as is_on_hand,
  s.missing_since,
  s.off_stock_at,
  s.first_seen_at,
  s.last_seen_at,
  o.eval_rooftop_id,
  o.eval_id,
  m.retail as market_retail,
  m.priced_at as market_as_of,
  (case when m.retail is null then coalesce(m.not_priced_reason, 'the service has only a wholesale price for it') end)::varchar(255) as not_priced_reason,
  s.acquired_on is not null as is_acquired_on_listed,
  coalesce(a.is_comparable, false) as is_asking_price_comparable,
  (case when s.off_stock_at is null then (
    select k.ppsr_outcome from core.stock_unit_known as k where k.rooftop_id = s.rooftop_id and k.stock_no = s.stock_no
  ) end)::varchar(20) as ppsr_outcome
from core.stock_unit as s
join core.rooftop as r using (rooftop_id)
-- distinct on changes nothing, but says that there is at most one: whoever reads no column of it does not pay for it.
left join (
  select distinct on (rooftop_id, stock_no) rooftop_id, stock_no, asking_price_first, price_changes, is_comparable from core.stock_asking_price
) as a using (rooftop_id, stock_no)
left join (
  select distinct on (rooftop_id, stock_no) rooftop_id, stock_no, eval_rooftop_id, eval_id, match_rule from core.stock_outcome
) as o using (rooftop_id, stock_no)
left join core.stock_market_price as m using (rooftop_id, stock_no);

comment on view mart.fact_stock_unit is 'Vehicles that are or were in stock, with the values of the newest stock list that has them. No rows without stock lists. | grain: one row per unit of the stock lists | key: rooftop_id, stock_no | history: current state; changes by import in core.stock_unit_change | freshness: as of the newest import of the rooftop';
comment on column mart.fact_stock_unit.rooftop_id is 'Rooftop of the row | unit: id | source: core.rooftop | joins: dim_rooftop.rooftop_id';
comment on column mart.fact_stock_unit.stock_no is 'Stock number; the VIN where the list has none | unit: text | source: core.stock_unit.stock_no';
comment on column mart.fact_stock_unit.vehicle_key is 'Vehicle; null unless the VIN has 17 characters | unit: id | source: core.stock_unit.vin | joins: dim_vehicle.vehicle_key';
comment on column mart.fact_stock_unit.evaluation_key is 'Evaluation on which it was bought: the last of its VIN completed by the day that it came in, of the same rooftop, else of the group; null: none, or it is gone | unit: id | source: core.stock_outcome | joins: fact_evaluation.evaluation_key';
comment on column mart.fact_stock_unit.match_rule is 'vin_same_rooftop or vin_same_group; null without an evaluation | unit: text | source: core.stock_outcome.match_rule';
comment on column mart.fact_stock_unit.vin is 'VIN as listed | unit: text | source: core.stock_unit.vin';
comment on column mart.fact_stock_unit.adcode is 'Factory build code | unit: text | source: core.stock_unit.adcode';
comment on column mart.fact_stock_unit.plate is 'Registration plate | unit: text | source: core.stock_unit.plate';
comment on column mart.fact_stock_unit.make is 'Make | unit: text | source: core.stock_unit.make';
comment on column mart.fact_stock_unit.model is 'Model | unit: text | source: core.stock_unit.model';
comment on column mart.fact_stock_unit.variant is 'Variant | unit: text | source: core.stock_unit.variant';
comment on column mart.fact_stock_unit.model_year is 'Model year | unit: year | source: core.stock_unit.model_year';
comment on column mart.fact_stock_unit.odometer_km is 'Odometer | unit: km | source: core.stock_unit.odometer_km';
comment on column mart.fact_stock_unit.asking_price_first is 'Asking price when the unit came in | unit: currency_code | source: core.stock_unit_change, core.stock_unit.asking_price';
comment on column mart.fact_stock_unit.asking_price is 'Asking price now; null: none, or on application | unit: currency_code | source: core.stock_unit.asking_price';
comment on column mart.fact_stock_unit.price_changes is 'Number of changes of the asking price since the unit came in | unit: count | source: core.stock_unit_change';
comment on column mart.fact_stock_unit.is_price_on_application is 'true: price on application | unit: flag | source: core.stock_unit.price_on_application';
comment on column mart.fact_stock_unit.cost is 'Cost of the unit | unit: currency_code | source: core.stock_unit.cost';
comment on column mart.fact_stock_unit.currency_code is 'Currency of the amounts of the row | unit: ISO 4217 | source: core.rooftop.currency_code';
comment on column mart.fact_stock_unit.acquired_on is 'Day on which the unit came in: as listed, else the day of its first list | unit: date | source: core.stock_unit.acquired_on, first_seen_at | joins: dim_date.date_day';
comment on column mart.fact_stock_unit.is_on_hand is 'true: in stock, including units in their days of grace | unit: flag | source: core.stock_unit.off_stock_at';
comment on column mart.fact_stock_unit.missing_since is 'First list without the unit; null: the newest list has it | unit: instant in UTC | source: core.stock_unit.missing_since';
comment on column mart.fact_stock_unit.off_stock_at is 'When it left the stock | unit: instant in UTC | source: core.stock_unit.off_stock_at';
comment on column mart.fact_stock_unit.first_seen_at is 'First list with the unit | unit: instant in UTC | source: core.stock_unit.first_seen_at';
comment on column mart.fact_stock_unit.last_seen_at is 'Last import that changed it | unit: instant in UTC | source: core.stock_unit.last_seen_at';
comment on column mart.fact_stock_unit.eval_rooftop_id is 'Rooftop of the evaluation on which it was bought, which may be another rooftop of the group; null: none | unit: id | source: core.stock_outcome';
comment on column mart.fact_stock_unit.eval_id is 'Evaluation on which it was bought, EvalID of the appraisal service; null: none | unit: id | source: core.stock_outcome';
comment on column mart.fact_stock_unit.market_retail is 'Current retail price of price-batch: of this vehicle, in this currency; null: not_priced_reason says why | unit: currency_code | source: core.stock_market_price.retail [V /v1/price-batch]';
comment on column mart.fact_stock_unit.market_as_of is 'When the market price was last confirmed | unit: instant in UTC | source: core.stock_market_price.priced_at';
comment on column mart.fact_stock_unit.not_priced_reason is 'Why there is no market_retail; null: there is one | unit: text | source: core.stock_market_price.not_priced_reason';
comment on column mart.fact_stock_unit.is_acquired_on_listed is 'true: acquired_on is as listed; false: it is the day of the first list, and how long the unit was in stock before is not known | unit: flag | source: core.stock_unit.acquired_on';
comment on column mart.fact_stock_unit.is_asking_price_comparable is 'true: a price is known before the newest one, or a later list of the whole stock has named the unit with the same price | unit: flag | source: core.stock_unit_change, core.stock_import';
comment on column mart.fact_stock_unit.ppsr_outcome is 'Of a unit on hand. answered: when it was last asked, the service has listed the PPSR searches of the VIN to the dealer group; no answer: it did not; null: never asked | unit: text | source: ops.enrichment_state.outcome [A §4 /getpastppsrsearch]';
