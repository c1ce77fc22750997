import type pg from 'pg'
import type { MartFile } from './mart-files.ts'

interface CoreView {
  readonly name: string
  readonly definition: string
}

/**
 * Creates `core_scoped`: a copy of each view of core that the marts read, directly or through other views. Row-level security checks
 * the owner of a view, so the marts of a tenant read these copies. Returns their names.
 */
export async function copyCoreViews(
  client: pg.ClientBase,
  marts: readonly MartFile[],
): Promise<string[]> {
  const { rows } = await client.query<CoreView>(
    `select c.relname as name, pg_get_viewdef(c.oid) as definition
     from set_config('search_path', '', true) as qualified
     join pg_class as c on c.relnamespace = 'core'::regnamespace and c.relkind = 'v' and qualified = ''
     order by c.oid`,
  )
  const wanted = new Map<string, CoreView>()
  const want = (text: string): void => {
    for (const view of rows) {
      if (wanted.has(view.name) || !namesView(text, view.name)) continue
      want(view.definition)
      wanted.set(view.name, view)
    }
  }
  for (const { schema, sql } of marts) if (schema === 'mart') want(splitComments(sql).statement)
  const names = [...wanted.keys()]
  for (const { name, definition } of wanted.values())
    await client.query(
      `create or replace view core_scoped.${name} as ${readFromCopies(definition, names)}`,
    )
  return names
}

/** The SQL of a view that reads the copies; its comments still name core. */
export function readFromCopies(sql: string, names: readonly string[]): string {
  const { statement, comments } = splitComments(sql)
  const over = names.reduce(
    (text, name) => text.replaceAll(new RegExp(`\\bcore\\.${name}\\b`, 'g'), `core_scoped.${name}`),
    statement,
  )
  return over + comments
}

function splitComments(sql: string): { statement: string; comments: string } {
  const end = sql.search(/^comment on /m)
  return end < 0
    ? { statement: sql, comments: '' }
    : { statement: sql.slice(0, end), comments: sql.slice(end) }
}

function namesView(text: string, name: string): boolean {
  return new RegExp(`\\bcore\\.${name}\\b`).test(text)
}
