import type pg from 'pg'

/** What a comment of a view or column says: `What it is. | unit: … | source: …` */
export interface ParsedComment {
  readonly text: string
  /** By name: unit, source and joins of a column; grain, key, history and freshness of a view. */
  readonly parts: Readonly<Record<string, string>>
}

export interface MartColumn {
  readonly name: string
  /** As Postgres writes it: `numeric(15,3)`. */
  readonly type: string
  readonly comment: ParsedComment
}

export interface MartView {
  readonly schema: string
  readonly name: string
  readonly comment: ParsedComment
  /** In the order of the view. */
  readonly columns: readonly MartColumn[]
}

const catalogueQuery = `
  select n.nspname as schema, c.relname as view, obj_description(c.oid, 'pg_class') as view_comment, a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as comment
  from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where n.nspname = any($1::text[]) and c.relkind = 'v'
  order by n.nspname collate "C", c.relname collate "C", a.attnum`

/** The views of some schemas as they are in a database, by schema and name. */
export async function readCatalogue(
  pool: pg.Pool | pg.ClientBase,
  schemas: readonly string[],
): Promise<MartView[]> {
  const { rows } = await pool.query<Record<string, string>>(catalogueQuery, [schemas])
  const views = Map.groupBy(rows, ({ schema, view }) => `${schema}.${view}`)
  return [...views.values()].map((columns) => ({
    schema: columns[0]!['schema']!,
    name: columns[0]!['view']!,
    comment: parseComment(columns[0]!['view_comment'] ?? ''),
    columns: columns.map(({ name, type, comment: text }) => ({
      name: name!,
      type: type!,
      comment: parseComment(text ?? ''),
    })),
  }))
}

function parseComment(comment: string): ParsedComment {
  const [text = '', ...parts] = comment.split(' | ')
  const named = parts.map((part): [string, string] => {
    const at = part.indexOf(': ')
    return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 2)]
  })
  return { text, parts: Object.fromEntries(named) }
}

/** The columns that no two rows share. */
export function keyOf({ comment }: MartView): string[] {
  return (comment.parts['key'] ?? '').split(', ').filter((name) => name !== '')
}

/** Views and columns that a view's columns lead to: views have no foreign keys. */
export function joinsOf(view: MartView): { column: string; toView: string; toColumn: string }[] {
  return view.columns.flatMap(({ name, comment }) => {
    const [toView, toColumn] = (comment.parts['joins'] ?? '').split('.')
    return toView && toColumn ? [{ column: name, toView, toColumn }] : []
  })
}

/** Whether a column of a key may be null: then its comment says what null means. */
export function mayBeNull({ comment }: MartColumn): boolean {
  return /\bnull\b/.test(comment.text)
}
