-- grain: one row per status of a PPSR watch
create or replace view mart.dim_watch_status as
select
  w.watch_status,
  w.noteworthiness,
  w.is_terminal,
  w.is_known
from core.ref_watch_status as w
where w.is_known
  or exists (select from core.vehicle_check as c where c.watch_status = w.watch_status)
  or exists (select from core.watch_status_change as c where c.to_status = w.watch_status);

comment on view mart.dim_watch_status is 'Statuses of PPSR watches, the most noteworthy first. A status that the document does not name appears when a watch has it. | grain: one row per status of a PPSR watch | key: watch_status | history: none | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.dim_watch_status.watch_status is 'Status as the service writes it | unit: text | source: core.ref_watch_status.watch_status [A §3]';
comment on column mart.dim_watch_status.noteworthiness is '1 is the most noteworthy; 0: a status that the document does not name | unit: rank | source: core.ref_watch_status.noteworthiness';
comment on column mart.dim_watch_status.is_terminal is 'true: a watch with this status never changes again | unit: flag | source: core.ref_watch_status.is_terminal';
comment on column mart.dim_watch_status.is_known is 'true: the document names the status | unit: flag | source: core.ref_watch_status.is_known';
