import type pg from 'pg'

/** Columns with customer data, or with a hash of the content. */
const personal = new Set([
  ...['content_hash', 'customer_state', 'customer_postcode', 'value_text', 'body', 'erased_at'],
  ...['customer_name', 'phone', 'email', 'address', 'suburb', 'registration_plate', 'notes'],
])

/** Every row of every fact table without erased columns: counts, money, times, versions, photos, checks. */
export async function factsOf(pool: pg.Pool): Promise<Record<string, string[]>> {
  const { rows: tables } = await pool.query<{ name: string; columns: string[] }>(
    `select format('%I.%I', table_schema, table_name) as name, array_agg(column_name::text) as columns
     from information_schema.tables join information_schema.columns using (table_schema, table_name)
     where table_schema in ('core', 'pii') and table_type = 'BASE TABLE' and table_name !~ '^(erasure|suppressed)'
       and table_name not in ('signed_link', 'archived_pdf')
     group by 1`,
  )
  const facts: Record<string, string[]> = {}
  for (const { name, columns } of tables) {
    const checked = columns.filter((column) => !personal.has(column)).map((column) => `"${column}"`)
    const { rows } = await pool.query<{ line: string }>(
      `select to_jsonb(checked)::text as line from (select ${checked.join(', ')} from ${name}) as checked order by 1`,
    )
    facts[name] = rows.map(({ line }) => line)
  }
  return facts
}

/** Every complete row of one of the evaluations, with its position. */
export async function rowsOf(
  pool: pg.Pool,
  evalIds: readonly number[],
): Promise<Record<string, string[]>> {
  const { rows: tables } = await pool.query<{ name: string; key: string }>(
    `select format('%I.%I', table_schema, table_name) as name, column_name as key
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_type = 'BASE TABLE' and table_schema in ('core', 'pii', 'raw', 'ops')
       and column_name in ('eval_id', 'natural_key')`,
  )
  const found: Record<string, string[]> = {}
  for (const { name, key } of tables) {
    const { rows } = await pool.query<{ line: string }>(
      `select t.ctid::text || ' ' || t::text as line from ${name} as t
       where ${key}::text = any($1) order by 1`,
      [evalIds.map(String)],
    )
    found[name] = rows.map(({ line }) => line)
  }
  return found
}
