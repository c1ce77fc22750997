-- What a stock person downloads is read with the rights of forecourt_console: its rooftops alone.
create or replace view core.stock_evaluation as
select unit.rooftop_id, unit.stock_no, seen.rooftop_id as eval_rooftop_id, seen.eval_id, seen.completed_at,
  case when seen.rooftop_id = unit.rooftop_id then 'vin_same_rooftop' else 'vin_same_group' end::varchar(20) as match_rule
from core.stock_unit as unit
join core.rooftop using (rooftop_id)
join core.evaluation as seen on seen.group_id = rooftop.group_id and upper(seen.vin) = unit.vin and length(seen.vin) = 17
where seen.gone_at is null
  -- Row-level security checks the owner of a view, who sees every row.
  and (current_user <> 'forecourt_console' or unit.rooftop_id = any (string_to_array(current_setting('forecourt.rooftops', true), ',')::int[]));

-- Anyone can send wrong links, so they must not count against those who sign in by OpenID Connect from the same address.
alter table ops.console_try add column method varchar(4) not null default 'link' check (method in ('link', 'oidc'));
comment on column ops.console_try.method is 'What failed: a sign-in link, or an answer of the OpenID Connect provider. Each counts for itself';
