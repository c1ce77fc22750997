-- The decoded make and model of a VIN, to notice a stock list that names another model: the unit would be priced as the wrong model.
alter table core.vehicle_decode add column make varchar(120), add column model varchar(120);
comment on column core.vehicle_decode.make is 'As the service decodes the VIN, like model. null: the service gives none, or it was decoded before this column existed';
