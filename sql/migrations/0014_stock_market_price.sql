-- The current market price of a unit, and why it has none: the console, exports and marts read this view, so that they agree.
create index price_batch_submitted on ops.price_batch (rooftop_id, submitted_at);

create view core.stock_market_price as
select
  s.rooftop_id, s.stock_no,
  p.retail, p.retail_low, p.retail_high, p.wholesale, p.wholesale_low, p.wholesale_high,
  p.currency_code as price_currency, p.last_confirmed_at as priced_at,
  case
    when p.stock_no is not null then case
      when p.error is not null then p.error
      when p.retail is null and p.wholesale is null then 'the service has no price for it'
    end
    else coalesce(
      (
        select case
          when o.error is not null then o.error
          when o.retail is null and o.wholesale is null then 'the service has no price for it'
          else 'its price is in ' || o.currency_code || ', the list has it in ' || s.currency_code
        end
        from core.stock_price_observation as o
        where o.rooftop_id = s.rooftop_id and o.stock_no = s.stock_no and o.price_source = 'price_batch' and o.is_current
          and coalesce(upper(o.vin) = upper(s.vin), true)
      ),
      case when s.vin is null and s.adcode is null then 'it has no VIN and no ADCode, so it cannot be priced' end,
      (
        select q.detail from ops.data_quality as q
        where q.rooftop_id = s.rooftop_id and q.stream = 'stock-prices' and q.check_name = 'not-priced'
        order by q.seen_at desc limit 1
      ),
      (
        select case
          when part.outcome = 'missing' then 'batch ' || batch.batch_no || ' has no result for it: it will be priced again next night'
          when part.outcome = 'duplicate'
            then 'batch ' || batch.batch_no || ' has several results for it and none was used: it will be priced again next night'
          when part.outcome = 'failed' then 'the service rejects it as too large, even alone in a batch'
          when batch.state = 'lost' then 'the answer to batch ' || batch.batch_no || ' was lost: it will be priced again next night'
          when batch.state = 'stuck'
            then 'batch ' || batch.batch_no || ' made no progress and was abandoned: it will be priced again next night'
          when batch.state = 'refused' then 'the service rejected batch ' || batch.batch_no || ': it will be priced again next night'
          when batch.state <> 'complete' then 'batch ' || batch.batch_no || ' is still being priced: the next run fetches its price'
        end
        from ops.price_batch as batch
        join ops.price_batch_unit as part using (batch_no)
        where batch.rooftop_id = s.rooftop_id and part.stock_no = s.stock_no and coalesce(upper(part.vin) = upper(s.vin), true)
          -- An older batch explains nothing any more.
          and batch.submitted_at > now() - interval '14 days'
        order by batch.batch_no desc limit 1
      ),
      'not priced yet'
    )
  end::varchar(255) as not_priced_reason
from core.stock_unit as s
left join core.stock_price_observation as p
  on p.rooftop_id = s.rooftop_id and p.stock_no = s.stock_no and p.price_source = 'price_batch' and p.is_current
  and p.currency_code = s.currency_code and coalesce(upper(p.vin) = upper(s.vin), true)
-- Row-level security checks the owner of a view, who sees every row.
where current_user <> 'forecourt_console' or s.rooftop_id = any (string_to_array(current_setting('forecourt.rooftops', true), ',')::int[]);
comment on view core.stock_market_price is 'The current price of each unit from price-batch: of the same vehicle, since stock numbers are reused, and in the currency of its list. One row per unit; null prices: it has none.';
comment on column core.stock_market_price.priced_at is 'Last answer with these prices';
comment on column core.stock_market_price.not_priced_reason is 'Why it has no price; null: it has a retail or a wholesale price';
