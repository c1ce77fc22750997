-- grain: one row per calendar day
create or replace view mart.dim_date as
select
  d.date_day,
  d.year,
  d.quarter,
  d.month,
  d.month_start,
  d.month_label,
  d.iso_year,
  d.iso_week,
  d.iso_dow,
  d.day_name,
  d.is_weekend,
  d.au_fiscal_year
from core.dim_date as d;

comment on view mart.dim_date is 'The calendar, 2000 to 2049. | grain: one row per calendar day | key: date_day | history: none | freshness: fixed';
comment on column mart.dim_date.date_day is 'The day | unit: date | source: core.dim_date.date_day';
comment on column mart.dim_date.year is 'Calendar year | unit: year | source: core.dim_date.year';
comment on column mart.dim_date.quarter is 'Quarter of the calendar year, 1 to 4 | unit: number | source: core.dim_date.quarter';
comment on column mart.dim_date.month is 'Month, 1 to 12 | unit: number | source: core.dim_date.month';
comment on column mart.dim_date.month_start is 'First day of the month | unit: date | source: core.dim_date.month_start';
comment on column mart.dim_date.month_label is 'Year and month, e.g. 2026-03 | unit: text | source: core.dim_date.month_label';
comment on column mart.dim_date.iso_year is 'Year of the ISO week | unit: year | source: core.dim_date.iso_year';
comment on column mart.dim_date.iso_week is 'ISO week, 1 to 53 | unit: number | source: core.dim_date.iso_week';
comment on column mart.dim_date.iso_dow is 'Day of the week: 1 is Monday, 7 is Sunday | unit: number | source: core.dim_date.iso_dow';
comment on column mart.dim_date.day_name is 'English name of the day | unit: text | source: core.dim_date.day_name';
comment on column mart.dim_date.is_weekend is 'Saturday or Sunday | unit: flag | source: core.dim_date.is_weekend';
comment on column mart.dim_date.au_fiscal_year is 'Year in which the Australian fiscal year (1 July to 30 June) ends | unit: year | source: core.dim_date.au_fiscal_year';
