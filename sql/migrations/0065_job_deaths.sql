alter table ops.job_fire add column deaths int not null default 0;
comment on column ops.job_fire.deaths is 'How many processes in a row ended during the job run without being stopped; a stop by a signal starts the count again';
