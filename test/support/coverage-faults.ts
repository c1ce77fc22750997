import type pg from 'pg'

/** What is wrong with certificates and coverage, in words; it shares no code with `verify`. Listed up to `until`, settled up to `settled`. */
export async function coverageFaults(
  pool: pg.Pool,
  { from, until, settled }: { from: Date; until: Date; settled: Date },
): Promise<string[]> {
  const { rows } = await pool.query<{ fault: string }>(
    `with certificate as (
       select *, tstzrange(window_from, window_until) as span from ops.window_certificate
     ), state as (
       select r.rooftop_id, coalesce(covered, '{}') as covered, coalesce(wanted, '{}') as wanted,
         (select coalesce(range_agg(span), '{}') from certificate c where c.rooftop_id = r.rooftop_id) as listed,
         (select coalesce(range_agg(span), '{}') from certificate c where c.rooftop_id = r.rooftop_id and settled) as settled
       from core.rooftop r left join ops.coverage o on o.rooftop_id = r.rooftop_id and o.stream = 'evaluations'
     )
     select 'overlap of ' || a.span || ' and ' || b.span as fault from certificate a join certificate b
       on (a.rooftop_id, a.stream) = (b.rooftop_id, b.stream) and a.window_from < b.window_from and a.span && b.span
     union all
     select 'broken sum in ' || span from certificate where listed <> loaded + quarantined + vanished
     union all
     select 'gap in the listings of ' || rooftop_id || ': ' || (tstzmultirange(tstzrange($1, $2)) - listed)::text
       from state where not listed @> tstzrange($1, $2)
     union all
     select 'covered is not the settled windows of ' || rooftop_id from state where covered <> settled
     union all
     select 'not settled in time at ' || rooftop_id || ': ' || (tstzmultirange(tstzrange($1, $3)) - covered)::text
       from state where $3 > $1 and not covered @> tstzrange($1, $3)
     union all
     select 'listed ' || c.listed || ' but ' || count(e.eval_id) || ' are stored in ' || c.span
       from certificate c left join core.evaluation e
         on e.rooftop_id = c.rooftop_id and e.gone_at is null and c.span @> e.entry_at
       group by c.rooftop_id, c.stream, c.span, c.loaded, c.listed having count(e.eval_id) > c.loaded`,
    [from, until, settled],
  )
  return rows.map(({ fault }) => fault)
}
