import type pg from 'pg'

/** Rows of every table, in one spelling and order, without what two runs may rightly differ in. */
export type Content = Readonly<Record<string, readonly string[]>>

/** Surrogate keys, run ids and instants of our own clock: they say when a row was written, not what it says. */
const stamps = [
  'run_id',
  'user_id',
  'fetched_at',
  'first_loaded_at',
  'last_changed_at',
  'observed_at',
  'first_seen_at',
  'last_seen_at',
  'removed_at',
  'listed_at',
  'reread_at',
]
// The links in a body are signed again at every read; content_hash is that of the body without the signatures.
// How a window was proved depends on the largest list seen before, and so on the order of the slices.
const others: Readonly<Record<string, readonly string[]>> = {
  'raw.payload': ['body'],
  'ops.window_certificate': ['proof'],
}

/** What must be the same after a crash and a re-run as after a run that nothing interrupted. */
export async function readContent(pool: pg.Pool): Promise<Content> {
  return await read(pool, stamps)
}

/** The same, with every instant and every run: what a replay must give back to the letter. */
export async function readExactContent(pool: pg.Pool): Promise<Content> {
  const all = await read(pool, ['user_id'])
  const volatile = (line: string) =>
    line.replaceAll(/"(first_seen_at|last_changed_at)":"[^"]*",?/g, '')
  return { ...all, 'core.app_user': all['core.app_user']!.map(volatile) }
}

async function read(pool: pg.Pool, left: readonly string[]): Promise<Content> {
  const { rows: tables } = await pool.query<{ name: string; columns: string[] }>(`
    select table_schema || '.' || table_name as name, array_agg(column_name::text) as columns
    from information_schema.tables join information_schema.columns using (table_schema, table_name)
    where (table_schema in ('core', 'pii', 'raw') and table_type = 'BASE TABLE')
      or (table_schema = 'ops' and table_name in ('certified_ids', 'coverage', 'unlisted_record', 'window_certificate'))
    group by 1 order by 1`)
  const content: Record<string, string[]> = {}
  for (const { name, columns } of tables) {
    const omitted = new Set([...left, ...(others[name] ?? [])])
    const selected = columns.filter((column) => !omitted.has(column)).map((column) => `"${column}"`)
    // A user's number may differ; whose it is may not.
    if (columns.includes('user_id'))
      selected.push(`(select lower(m.email) from pii.app_user_email as m
        where m.user_id = t.user_id) as whose`)
    const { rows } = await pool.query<{ line: string }>(
      `select to_jsonb(selected)::text as line from (select ${selected.join(', ')} from ${name} as t) as selected
       order by 1`,
    )
    content[name] = rows.map(({ line }) => line)
  }
  return content
}

/** One line for every row that only one side has; empty: the same. */
export function contentDifferences(expected: Content, actual: Content): string[] {
  return Object.keys({ ...expected, ...actual }).flatMap((table) => {
    const left = counted(expected[table] ?? [])
    const right = counted(actual[table] ?? [])
    const lines = [...new Set([...left.keys(), ...right.keys()])]
    return lines
      .filter((line) => left.get(line) !== right.get(line))
      .map((line) => `${table}: ${right.get(line) ?? 0} instead of ${left.get(line) ?? 0}: ${line}`)
  })
}

function counted(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** How many rows each table holds. */
export function rowCounts(content: Content): Record<string, number> {
  return Object.fromEntries(Object.entries(content).map(([name, lines]) => [name, lines.length]))
}
