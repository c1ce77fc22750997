-- What DuckDB says in another way than Spark and Trino. Run it once, before the reports.
create macro today(zone) as cast(now() at time zone zone as date);
create macro local_day(moment, zone) as cast(moment at time zone zone as date);
create macro days_between(first, last) as date_diff('day', first, last);
create macro micros(moment) as epoch_us(moment);
-- Exact to 12 decimals; null where b is 0.
create macro ratio(a, b) as cast(
  (cast(cast(a as decimal(24,3)) * 1000 as hugeint) * 1000000000000) // nullif(cast(cast(b as decimal(24,3)) * 1000 as hugeint), 0) as decimal(36,0)
) * cast(0.000000000001 as decimal(13,12));
