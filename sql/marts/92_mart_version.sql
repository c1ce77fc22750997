-- grain: one row per build of the marts
create or replace view mart.mart_version as
select
  v.version,
  v.built_at,
  (v.built_at = max(v.built_at) over ()) as is_current
from ops.mart_version as v;

comment on view mart.mart_version is 'Versions of the marts. Added columns raise the minor version; removed, renamed or retyped columns raise the major version. | grain: one row per build of the marts | key: built_at | history: complete | freshness: with each release';
comment on column mart.mart_version.version is 'Semantic version of the columns that BI tools rely on | unit: text | source: ops.mart_version.version';
comment on column mart.mart_version.built_at is 'When they were built | unit: instant in UTC | source: ops.mart_version.built_at';
comment on column mart.mart_version.is_current is 'true: the current version | unit: flag | source: ops.mart_version';
