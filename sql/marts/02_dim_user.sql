-- grain: one row per salesperson of a dealer group
create or replace view mart.dim_user as
select
  u.user_id,
  u.group_id,
  u.display_name,
  u.is_generated_link_account,
  u.is_active,
  u.in_user_list,
  u.first_seen_at
from core.app_user as u;

comment on view mart.dim_user is 'Salespeople and generated accounts of evaluations. E-mail addresses are not included. | grain: one row per salesperson of a dealer group | key: user_id | history: current state only | freshness: as of the last good run of its rooftop: see data_freshness';
comment on column mart.dim_user.user_id is 'Key of the person in this warehouse | unit: id | source: core.app_user.user_id';
comment on column mart.dim_user.group_id is 'Dealer group | unit: id | source: core.app_user.group_id';
comment on column mart.dim_user.display_name is 'Name as the service shows it; null when it gives none | unit: text | source: core.app_user.display_name [A §4 /getuserlist]';
comment on column mart.dim_user.is_generated_link_account is 'true: an account that a capture link generated, not a person | unit: flag | source: core.app_user.is_generated_link_account';
comment on column mart.dim_user.is_active is 'true: listed as active; null: known only from evaluations | unit: flag | source: core.app_user.is_active';
comment on column mart.dim_user.in_user_list is 'true: in the user list of the service | unit: flag | source: core.app_user.in_user_list';
comment on column mart.dim_user.first_seen_at is 'First seen | unit: instant in UTC | source: core.app_user.first_seen_at';
