-- What Spark says in another way than DuckDB and Trino. Run it once, before the reports; the time zone of the session is UTC.
create temporary function today(zone string) returns date return cast(from_utc_timestamp(now(), zone) as date);
create temporary function local_day(moment timestamp, zone string) returns date return cast(from_utc_timestamp(moment, zone) as date);
create temporary function days_between(first date, last date) returns int return datediff(last, first);
create temporary function micros(moment timestamp) returns bigint return unix_micros(moment);
-- Exact to 12 decimals; null where b is 0.
create temporary function ratio(a decimal(24,3), b decimal(24,3)) returns decimal(38,12) return a / nullif(b, 0);
