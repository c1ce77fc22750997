import type pg from 'pg'

// A history of years, planted by SQL: every evaluation with all that is stored of it and of its windows, copied into the years before.

const windowTables = ['window_certificate', 'certified_ids']
const dayTables = ['agg_evaluation_day', 'agg_pricing_day', 'agg_recon_day']
/** Tables with evaluations that are not history. */
const leftOut = ['webhook_delivery', 'suppressed_evaluation', 'unlisted_record']

interface Column {
  readonly name: string
  readonly type: string
}

interface Table {
  readonly schema: string
  readonly name: string
  readonly columns: readonly Column[]
}

/** Copies everything `copies` times, each copy `days` before the one after it. Nothing of the copies is due: their windows were listed
 *  and read again just now, their watches have ended, and they are older than every schedule. */
export async function plantHistory(
  pool: pg.Pool,
  { copies, days }: { readonly copies: number; readonly days: number },
): Promise<void> {
  const client = await pool.connect()
  try {
    // Without triggers: the sums are copied too.
    await client.query(`set session_replication_role = replica; set synchronous_commit = off`)
    const { rows } = await client.query<Table>(`
      select table_schema as schema, table_name as name,
        json_agg(json_build_object('name', column_name, 'type', data_type) order by ordinal_position) as columns
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_type = 'BASE TABLE' and is_generated = 'NEVER' and is_identity = 'NO' and table_schema in ('core', 'pii', 'raw', 'ops')
      -- Certificates before the ids that their copies are calculated from.
      group by 1, 2 order by 1, 2 desc`)
    const planted = rows.filter(
      ({ name, columns }) =>
        columns.some((column) => column.name === 'eval_id' && !leftOut.includes(name)) ||
        [...windowTables, ...dayTables, 'payload'].includes(name),
    )
    for (const { schema, name, columns } of planted)
      await client.query(
        `insert into ${schema}.${name} (${columns.map((column) => `"${column.name}"`).join(', ')})
         select ${columns.map((column) => copiedValue(column, days)).join(', ')}
         from ${schema}.${name} as t cross join generate_series(1, ${copies}) as k
         ${name === 'payload' ? `where endpoint <> 'getuserlist'` : ''}`,
      )
    await client.query(
      `update ops.coverage as c set (covered, wanted) = (
         select c.covered + range_agg(span), c.wanted + range_agg(span) from ops.window_certificate as w, tstzrange(window_from, window_until) as span
         where w.rooftop_id = c.rooftop_id and w.stream = c.stream and upper(span) < now() - interval '400 days')
       where exists (select from ops.window_certificate as w where w.rooftop_id = c.rooftop_id and w.stream = c.stream)`,
    )
  } finally {
    client.release(true)
  }
}

/** A column of the copy k of a row t, as SQL. */
function copiedValue({ name, type }: Column, days: number): string {
  const shift = `make_interval(days => 400 + k * ${days})`
  const added = `k * 100000000::bigint`
  const special: Readonly<Record<string, string>> = {
    eval_id: `t.eval_id + ${added}`,
    ids: `array(select id + ${added} from unnest(t.ids) as id order by id)`,
    ids_digest: `sha256(coalesce((
      select string_agg((id + ${added})::text, ',' order by id) from ops.certified_ids as own cross join unnest(own.ids) as id
      where (own.rooftop_id, own.stream, own.window_from) = (t.rooftop_id, t.stream, t.window_from)), '')::bytea)`,
    natural_key: `case when t.natural_key ~ '^[0-9]+$' then (t.natural_key::bigint + ${added})::text else t.natural_key || '-' || k end`,
    vin: `'C' || lpad(k::text, 4, '0') || substr(t.vin, 6)`,
    check_ref: `t.check_ref || '-' || k`,
    link_ref: `t.link_ref || '-' || k`,
    settled: 'true',
    last_asked_at: 't.last_asked_at',
    next_due_at: 'null',
    expires_at: `t.expires_at + interval '20 days'`,
    watch_status: `case when t.watch_status is not null then (select min(watch_status) from core.ref_watch_status where is_terminal) end`,
    listed_at: `t.listed_at + interval '1 year'`,
    reread_at: `t.reread_at + interval '1 year'`,
    month_start: `date_trunc('month', t.completed_date_local - ${shift})::date`,
  }
  if (special[name] !== undefined) return special[name]
  if (type.startsWith('timestamp')) return `t."${name}" - ${shift}`
  return type === 'date' ? `(t."${name}" - ${shift})::date` : `t."${name}"`
}
