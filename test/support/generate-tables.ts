import type pg from 'pg'
import { readSources } from './imports.ts'
import { dumpedSchemas } from './schema-dump.ts'

interface Column {
  readonly schema: string
  readonly relation: string
  readonly name: string
  /** As pg_type names it: int8, varchar, _text. */
  readonly type: string
  readonly nullable: boolean
  readonly generated: 'always' | 'default' | 'no'
}

const columnsQuery = /* sql */ `
  select n.nspname as schema, c.relname as relation, a.attname as name,
    coalesce(base.typname, t.typname) as type,
    not a.attnotnull as nullable,
    case when a.attgenerated <> '' or a.attidentity = 'a' then 'always'
         when a.attidentity = 'd' or a.atthasdef then 'default'
         else 'no' end as generated
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_type base on base.oid = t.typbasetype and t.typtype = 'd'
  where n.nspname = any($1::text[])
    and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  order by n.nspname collate "C", c.relname collate "C", a.attnum`

const scalars: Readonly<Record<string, string>> = {
  int2: 'number',
  int4: 'number',
  int8: 'number',
  float4: 'number',
  float8: 'number',
  oid: 'number',
  bool: 'boolean',
  timestamptz: 'Date',
  timestamp: 'Date',
  json: 'unknown',
  jsonb: 'unknown',
  bytea: 'Buffer',
}

/** The text of src/warehouse/db/tables.ts for a migrated database: row types for Kysely and COPY. Types are those that `openPool` hands out. */
export async function generateTables(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<Column>(columnsQuery, [dumpedSchemas])
  const sources = await readSources(['src', 'test'])
  sources.delete('src/warehouse/db/tables.ts')
  const text = [...sources.values()].join('\n')
  // Most tables are read by plain SQL alone, which needs no type of them.
  const relations = [...Map.groupBy(rows, (row) => `${row.schema}.${row.relation}`)].filter(
    ([name]) => text.includes(`'${name}'`) || text.includes(`'${name} as `),
  )
  return [
    '// Written by `npm run schema` from the migrated database; do not edit.',
    "import type { Generated, GeneratedAlways } from 'kysely'",
    ...relations.map(([name, columns]) => interfaceOf(name, columns)),
    mapOf(relations.map(([name]) => name)),
  ]
    .join('\n\n')
    .replace('\n\nimport', '\nimport')
}

function interfaceOf(name: string, columns: readonly Column[]): string {
  const fields = columns.map((column) => `  ${column.name}: ${typeOf(column)}`)
  return `/** ${name} */\ninterface ${interfaceName(name)} {\n${fields.join('\n')}\n}`
}

function mapOf(names: readonly string[]): string {
  const fields = names.map((name) => `  '${name}': ${interfaceName(name)}`)
  return `/** The tables and views that the source names, by their full names. */\nexport interface Tables {\n${fields.join('\n')}\n}\n`
}

// core.app_user → CoreAppUserTable
function interfaceName(name: string): string {
  const words = name.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Table`
}

function typeOf({ type, nullable, generated }: Column): string {
  // Types that pg has no parser for (text, numeric, ranges, uuid, …) arrive as their text.
  const plain = type.startsWith('_') ? `${scalarOf(type.slice(1))}[]` : scalarOf(type)
  const read = nullable && plain !== 'unknown' ? `${plain} | null` : plain
  if (generated === 'no') return read
  return generated === 'always' ? `GeneratedAlways<${read}>` : `Generated<${read}>`
}

function scalarOf(type: string): string {
  return scalars[type] ?? 'string'
}
