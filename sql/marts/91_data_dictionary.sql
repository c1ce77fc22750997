-- grain: one row per column of a mart, and one per view with column_name null
create or replace view mart.data_dictionary as
with entry as (
  select c.relname as view_name, a.attname as column_name, coalesce(a.attnum, 0) as position, format_type(a.atttypid, a.atttypmod) as data_type,
    string_to_array(coalesce(col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class')), ' | ') as parts
  from pg_class as c
  cross join lateral (
    select attname, attnum, atttypid, atttypmod from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
    union all
    select null, null, null, null
  ) as a
  where c.relnamespace = 'mart'::regnamespace and c.relkind = 'v'
)
select
  view_name::varchar(63) as view_name,
  column_name::varchar(63) as column_name,
  position::smallint as position,
  data_type::varchar(40) as data_type,
  parts[1]::varchar(255) as description,
  (select substr(part, 7) from unnest(parts) as part where part like 'unit: %')::varchar(255) as unit,
  (select substr(part, 9) from unnest(parts) as part where part like 'source: %')::varchar(255) as source,
  (select substr(part, 8) from unnest(parts) as part where part like 'joins: %')::varchar(255) as joins_to,
  (select substr(part, 8) from unnest(parts) as part where part like 'grain: %')::varchar(255) as grain,
  (select substr(part, 6) from unnest(parts) as part where part like 'key: %')::varchar(255) as key_columns,
  (select substr(part, 10) from unnest(parts) as part where part like 'history: %')::varchar(255) as history,
  (select substr(part, 12) from unnest(parts) as part where part like 'freshness: %')::varchar(255) as freshness
from entry;

comment on view mart.data_dictionary is 'Meaning of every view and column of the marts, for tools that do not show comments. | grain: one row per column of a mart, and one per view with column_name null | key: view_name, position | history: none | freshness: with each release';
comment on column mart.data_dictionary.view_name is 'View | unit: text | source: pg_class';
comment on column mart.data_dictionary.column_name is 'Column; null for the row of the view itself | unit: text | source: pg_attribute';
comment on column mart.data_dictionary.position is 'Position of the column in the view, from 1; 0 for the row of the view itself | unit: number | source: pg_attribute';
comment on column mart.data_dictionary.data_type is 'Type of the column | unit: text | source: pg_attribute';
comment on column mart.data_dictionary.description is 'Meaning | unit: text | source: comment';
comment on column mart.data_dictionary.unit is 'Unit of a column | unit: text | source: comment';
comment on column mart.data_dictionary.source is 'Table and field that a column comes from | unit: text | source: comment';
comment on column mart.data_dictionary.joins_to is 'View and column that a column joins to; views have no foreign keys | unit: text | source: comment';
comment on column mart.data_dictionary.grain is 'What one row of a view is | unit: text | source: comment';
comment on column mart.data_dictionary.key_columns is 'Columns of a view that no two rows share; views have no primary keys | unit: text | source: comment';
comment on column mart.data_dictionary.history is 'Which past states a view has | unit: text | source: comment';
comment on column mart.data_dictionary.freshness is 'How new the rows of a view are | unit: text | source: comment';
