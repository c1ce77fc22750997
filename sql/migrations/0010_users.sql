-- Salespeople of a dealer group. The API gives no user id: the natural key is group + e-mail.
create table core.app_user (
  user_id bigint generated always as identity primary key,
  group_id int not null references core.rooftop_group,
  display_name varchar(200),
  is_generated_link_account boolean not null,
  is_active boolean,
  in_user_list boolean not null,
  first_seen_at timestamptz not null default now(),
  last_changed_at timestamptz not null default now()
);
comment on column core.app_user.is_generated_link_account is 'Decided by the suffix of the e-mail only (wire.appraisal.generatedUser.emailSuffix)';
comment on column core.app_user.is_active is 'true: listed without includeInactive; null: never listed, known from evaluations only';

create table core.app_user_rooftop (
  rooftop_id int not null references core.rooftop,
  user_id bigint not null references core.app_user,
  is_active boolean not null,
  primary key (rooftop_id, user_id)
);
comment on table core.app_user_rooftop is 'The users that the list of a rooftop shows. The list covers the whole dealer group of that rooftop; a key may cover several groups.';

create table pii.app_user_email (
  user_id bigint primary key references core.app_user,
  group_id int not null,
  email varchar(320) not null
);
create unique index app_user_email_natural on pii.app_user_email (group_id, lower(email));
