-- Windows that cannot be proved, or whose counts do not add up, are found without reading every certificate.
drop index ops.window_certificate_doubted;
create index window_certificate_faulty on ops.window_certificate (rooftop_id, stream, window_from)
  where proof = 'unprovable' or listed <> loaded + quarantined + vanished;

-- "offset 0": else the planner compares every span that a slice has listed with every certificate of all rooftops.
create function ops.certificates_over(of_rooftop int, of_stream text, start timestamptz, stop timestamptz)
returns setof ops.window_certificate language sql stable as $$
  select * from ops.window_certificate
  where rooftop_id = of_rooftop and stream = of_stream and window_until > start
    and window_from < stop and window_from > start - interval '744 hours'
  offset 0
$$;
comment on function ops.certificates_over(int, text, timestamptz, timestamptz) is 'The certificates whose windows overlap [start, stop), by an index: no window is longer than sync.windowHours may be, 744 hours.';
