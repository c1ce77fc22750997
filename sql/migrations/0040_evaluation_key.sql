-- BI tools join on one column: the key that the views of mart show is indexed where they read it. An evaluation's rows follow each
-- other, so an index stores each key once with all its rows.
create index evaluation_key on core.evaluation (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index evaluation_version_key on core.evaluation_version (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index reconditioning_item_key on core.reconditioning_item (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index photo_key on core.photo (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index price_observation_key on core.price_observation (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index vehicle_check_key on core.vehicle_check (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index watch_status_change_key on core.watch_status_change (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index evaluation_customer_key on pii.evaluation_customer (((rooftop_id::text || '-' || eval_id::text)::varchar(32)));
create index evaluation_vehicle_key on core.evaluation (((group_id::text || '-' || vehicle_vin)::varchar(60)));
