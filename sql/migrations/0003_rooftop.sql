-- The rooftops of the config and their dealer groups.
create schema core;
create schema pii;

create table core.rooftop_group (
  group_id int generated always as identity primary key,
  group_code varchar(130) not null unique
);
comment on table core.rooftop_group is 'A dealer group: one evaluation list covers all its rooftops [A §4 /getevallist].';

create table core.rooftop (
  rooftop_id int generated always as identity primary key,
  rooftop_uid varchar(64) not null unique,
  dealer_id bigint,
  group_id int not null references core.rooftop_group,
  rooftop_name varchar(200) not null,
  region varchar(3) not null check (region in ('AU', 'US', 'GCC')),
  time_zone varchar(64) not null,
  currency_code char(3) not null,
  odometer_unit char(2) not null check (odometer_unit in ('km', 'mi'))
);
comment on column core.rooftop.rooftop_uid is 'Value of X-Dealer-Id';
comment on column core.rooftop.dealer_id is 'Numeric dealership id, used to filter the list; null: the list is not filtered';
