-- What a VIN decodes to beside its code, to notice a stock list that says another model: it would be priced as the former.
alter table core.vehicle_decode add column make varchar(120), add column model varchar(120);
comment on column core.vehicle_decode.make is 'As the service decodes the VIN; model too. null: it says none, or was asked before they were stored';
