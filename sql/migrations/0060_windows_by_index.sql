-- What status and the morning page read of windows does not read each of them: 912,000 windows of 500 rooftops were read to find 3,000 unprovable ones, in
-- 1.7 s of each status, morning page and read of mart.data_freshness, and again for the records that are due.
create index window_certificate_unprovable on ops.window_certificate (rooftop_id, stream) where proof = 'unprovable';

-- Its key and what status sums.
drop index ops.window_certificate_rooftop_id_stream_listed_at_idx;
create index window_certificate_listed on ops.window_certificate (rooftop_id, stream, listed_at) include (loaded, reread_at);
