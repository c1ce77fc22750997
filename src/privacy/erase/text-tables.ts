import { sql } from 'kysely'
import { allOperations } from '../../api/contract/operations.ts'
import { allStreams } from '../../streams/all.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** A column with text in it. */
export interface TextColumn {
  readonly name: string
  readonly type: 'text' | 'json' | 'jsonb' | 'array'
  /** As Postgres writes it, for a cast. */
  readonly declared: string
  /** Part of a key: searched, but never changed. */
  readonly isKey: boolean
  /** The body of a webhook. No document shows that of a drive, so any of its fields may be about the customer. */
  readonly isWebhook: boolean
}

/** A table with its text columns, and the relation of its rows to evaluations. */
export interface TextTable {
  /** `schema.table`, quoted if necessary. */
  readonly name: string
  readonly columns: readonly TextColumn[]
  /** SQL for the evaluation of a row; `null::bigint` for none. */
  readonly owner: string
  /** SQL condition, served by an index: the row belongs to one of the evaluations $2 (bigint[]). null: no row does. */
  readonly belongs: string | null
  /** SQL for the rooftop of a row. */
  readonly rooftop: string
  /** Whether a row without a rooftop belongs to its evaluation of any dealer group. */
  readonly isOfAnyGroup: boolean
}

const deliveries = /^ops\.webhook_delivery$/

/** Tables that are not searched: written by erasures, or with names of the program only. */
const notSearched = [
  /^pii\.(erasure|suppressed)/,
  /^ops\.(schema_migration|mart_version|bi_login|bi_access)$/,
  /^core\.(ref_|dim_)/,
]

const asks = allStreams.flatMap(({ enrichment }) => enrichment?.asks ?? [])

/** Payloads and quarantined records that belong to one evaluation. */
const evaluationKeys = {
  endpoints: [
    ...new Set([
      ...allStreams.flatMap(({ records }) => records?.endpoint ?? []),
      ...asks,
      ...allOperations.filter(({ fields }) => 'evalid' in fields.shape).map(({ name }) => name),
    ]),
  ],
  streams: allStreams
    .filter(({ records, enrichment }) => records ?? enrichment)
    .map(({ name }) => name),
  /** Texts that may follow the EvalID in a key. */
  suffixes: ['', ...asks.map((ask) => `/${ask}`)],
}

/** Every table of the warehouse with text, including those of the work queue and later ones. */
export async function textTables(db: Db): Promise<TextTable[]> {
  const { rows } = await tablesQuery.execute(db)
  return rows
    .filter(({ name }) => !notSearched.some((pattern) => pattern.test(name)))
    .map(({ name, columns, others }) => ({
      name,
      columns: columns.map((column) => ({
        ...column,
        isWebhook: deliveries.test(name) && column.name === 'body',
      })),
      ...ownership(name, others),
      rooftop: others.includes('rooftop_id') ? 'rooftop_id' : 'null::int',
      isOfAnyGroup: deliveries.test(name),
    }))
}

interface TableRow {
  readonly name: string
  readonly columns: Omit<TextColumn, 'isWebhook'>[]
  readonly others: string[]
}

const tablesQuery = sql<TableRow>`
  select format('%I.%I', n.nspname, c.relname) as name,
    json_agg(json_build_object('name', quote_ident(a.attname), 'declared', format_type(a.atttypid, a.atttypmod),
      'isKey', exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and a.attnum = any(i.indkey)),
      'type', case when t.typname in ('json', 'jsonb') then t.typname when t.typcategory = 'A' then 'array' else 'text' end)
      order by a.attnum) filter (where t.typname in ('text', 'varchar', 'bpchar', 'json', 'jsonb', '_text', '_varchar')
      and a.attgenerated = '') as columns,
    array_agg(a.attname::text) as others
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relpersistence <> 't'
  group by n.nspname, c.relname
  having bool_or(t.typname in ('text', 'varchar', 'bpchar', 'json', 'jsonb', '_text', '_varchar') and a.attgenerated = '')
  order by 1`

const none = { owner: 'null::bigint', belongs: null }

function ownership(name: string, columns: readonly string[]): Pick<TextTable, 'owner' | 'belongs'> {
  if (!columns.includes('rooftop_id')) return none
  if (columns.includes('eval_id'))
    return { owner: 'eval_id', belongs: 'eval_id = any($2::bigint[])' }
  if (name === 'raw.payload') return byNaturalKey('endpoint', evaluationKeys.endpoints)
  if (name === 'ops.quarantine' || name === 'ops.data_quality')
    return byNaturalKey('stream', evaluationKeys.streams)
  return none
}

/** SQL for tables whose key is the EvalID, or EvalID/call where a stream makes several calls. */
function byNaturalKey(
  column: string,
  known: readonly string[],
): Pick<TextTable, 'owner' | 'belongs'> {
  const isKnown = `${column} in (${literals(known)})`
  const isNumber = `natural_key ~ '^[0-9]{1,15}(/|$)'`
  return {
    owner: `case when ${isKnown} and ${isNumber} then split_part(natural_key, '/', 1)::bigint end`,
    // A list of whole keys, because no index serves a pattern in a parameter.
    belongs: `${isKnown} and natural_key = any(array(
      select id || suffix from unnest($2::bigint[]) as id, unnest(array[${literals(evaluationKeys.suffixes)}]) as suffix))`,
  }
}

function literals(texts: readonly string[]): string {
  return texts.map((text) => `'${text.replaceAll("'", "''")}'`).join(', ')
}

/** The columns of a row as a JSON array of text: the driver parses Postgres arrays slowly. */
export function rowTextsSql({ columns }: TextTable): string {
  return `to_json(array[${columns.map(columnTextSql).join(', ')}])`
}

function columnTextSql({ name, type }: TextColumn): string {
  return type === 'array' ? `to_jsonb(${name})::text` : `${name}::text`
}

/** A text as a value of the column. */
export function columnValue({ type, declared }: TextColumn, text: string) {
  const cast = sql.raw(declared)
  if (type !== 'array') return sql`${text}::${cast}`
  return sql`array(select jsonb_array_elements_text(${text}::jsonb))::${cast}`
}
