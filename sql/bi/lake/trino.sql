-- What Trino says in another way than DuckDB and Spark. Put it before the text of a report: they are one statement.
with
  function today(zone varchar) returns date return cast(at_timezone(now(), zone) as date),
  function local_day(moment timestamp(3) with time zone, zone varchar) returns date return cast(at_timezone(moment, zone) as date),
  function days_between(first date, last date) returns bigint return date_diff('day', first, last),
  function micros(moment timestamp(3) with time zone) returns bigint return cast(round(to_unixtime(moment) * 1000) as bigint) * 1000,
  -- Exact to 12 decimals; null where b is 0.
  function ratio(a decimal(24,3), b decimal(24,3)) returns decimal(38,12) return cast(a as decimal(38,12)) / nullif(b, 0)
