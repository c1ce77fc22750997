-- A rooftop that left the config is loaded no more: it must not count as late always.
alter table core.rooftop add column left_config_at timestamptz;
comment on column core.rooftop.left_config_at is 'When a run found that the config no longer names the rooftop; null: the config names it';
