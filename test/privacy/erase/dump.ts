import type pg from 'pg'

/** Every row of every table as text, one per line, like a dump of the database. */
export async function dumpOf(pool: pg.Pool): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
     order by 1`,
  )
  const lines: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ line: string }>(`select t::text as line from ${name} as t`)
    lines.push(...rows.map(({ line }) => `${name} ${line}`))
  }
  return lines
}

/** Lines with one of the texts, in any letter case, also with JSON escapes. */
export function linesWith(lines: readonly string[], texts: readonly string[]): string[] {
  const wanted = texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)])
  return lines.filter((line) => {
    const lower = line.toLowerCase()
    return wanted.some((text) => lower.includes(text.toLowerCase()))
  })
}
