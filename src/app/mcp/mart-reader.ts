import { sql } from 'kysely'
import type pg from 'pg'
import { UsageError } from '../../errors.ts'
import { openPool } from '../../warehouse/db/connect.ts'
import { openDb } from '../../warehouse/db/transaction.ts'
import type { Config } from '../config/read.ts'

type Cell = string | number | boolean | null

/** Rows of a query, as far as the limits go. */
export interface MartTable {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly Cell[])[]
  /** There are more rows than these. */
  readonly truncated: boolean
  /** How many cells were too long: only their beginning is here. */
  readonly cutCells: number
}

/** The marts as a BI login sees them. What a query may do is limited by the rights of the login, not by this program. */
export interface MartReader extends AsyncDisposable {
  readonly login: string
  /** The schema that the login reads: `mart`, or `mart_scoped` with the rows of its dealer groups. */
  readonly schema: 'mart' | 'mart_scoped'
  /** Rows of one statement, which is not trusted. */
  read(sql: string, values?: readonly unknown[]): Promise<MartTable>
}

/** Connects as the login of `mcp.url`. UsageError unless it is a BI login that may read its marts and nothing else. */
export async function openMartReader({ mcp }: Pick<Config, 'mcp'>): Promise<MartReader> {
  if (mcp.url === null)
    throw new UsageError(
      'mcp.url is not set: name the Postgres with a login of role bi_reader or bi_tenant there. "forecourt grant" makes such logins.',
    )
  const pool = await openPool(mcp.url, {
    ...{ applicationName: 'forecourt mcp', max: 4, setting: 'mcp.url' },
    statementTimeoutMs: mcp.statementTimeoutSeconds * 1000,
  })
  try {
    const { login, schema } = await assertReader(pool)
    return {
      ...{ login, schema },
      read: async (query, values = []) => {
        const client = await pool.connect()
        try {
          return await readTable(client, { sql: query, values, schema, ...mcp })
        } finally {
          // A statement can leave settings and advisory locks behind: a session serves one query.
          client.release(true)
        }
      },
      [Symbol.asyncDispose]: () => pool.end(),
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}

/** Extensions with functions that reach other hosts. */
const reachingOut = ['dblink', 'http', 'pg_net', 'pg_curl', 'aws_lambda', 'aws_s3']

async function assertReader(pool: pg.Pool): Promise<Pick<MartReader, 'login' | 'schema'>> {
  const { rows } = await sql<{
    login: string
    roles: string[]
    bypasses: boolean
    schemas: string[]
    extensions: string[]
  }>`
    select rolname as login, rolbypassrls as bypasses,
      array(select r.rolname::text from pg_roles as r where r.rolname <> current_user and pg_has_role(r.oid, 'member') order by 1) as roles,
      array(select nspname::text from pg_namespace where nspname = any ('{core,core_scoped,mart_pii,ops,pgboss,pii,raw}')
        and has_schema_privilege(oid, 'usage') order by 1) as schemas,
      array(select extname::text from pg_extension as e where extname = any (${reachingOut}) and exists (
        select from pg_depend as d join pg_proc as p on p.oid = d.objid
        where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid
          and has_function_privilege(p.oid, 'execute') and has_schema_privilege(p.pronamespace, 'usage')) order by 1) as extensions
    from pg_roles where rolname = current_user`.execute(openDb(pool))
  const { login, roles, bypasses, schemas, extensions } = rows[0]!
  const [role] = roles
  if (roles.length !== 1 || (role !== 'bi_reader' && role !== 'bi_tenant') || bypasses)
    throw new UsageError(
      `The login ${login} of mcp.url is not a login of role bi_reader or bi_tenant alone${bypasses ? ': it bypasses row-level security' : ''}. Make one for the assistant: add it to access.logins, and run "forecourt grant".`,
    )
  if (schemas.length > 0)
    throw new UsageError(
      `The login ${login} of mcp.url may use the schema ${schemas.join(', ')}, which a BI login may not: revoke that, or make another login with "forecourt grant".`,
    )
  if (extensions.length > 0)
    throw new UsageError(
      `The login ${login} of mcp.url may call functions of the extension ${extensions.join(', ')}, which reach other hosts: revoke execute on them from public.`,
    )
  return { login, schema: role === 'bi_reader' ? 'mart' : 'mart_scoped' }
}

interface ReadRequest {
  readonly sql: string
  readonly values: readonly unknown[]
  readonly schema: string
  readonly maxRows: number
  readonly maxKilobytes: number
  readonly statementTimeoutSeconds: number
}

/** Left out of the types of pg. */
interface ExtendedQuery extends pg.QueryConfig {
  readonly queryMode: 'extended'
}

const rowsOfAPage = 50
/** Characters of a cell, at most. */
const maxCellCharacters = 2000
/** bool, int8, int2, int4, oid, float4, float8, date, timestamptz, void: short, whatever they hold. */
const shortTypes = new Set([16, 20, 21, 23, 26, 700, 701, 1082, 1184, 2278])

async function readTable(client: pg.ClientBase, request: ReadRequest): Promise<MartTable> {
  const { values, schema, maxKilobytes, statementTimeoutSeconds } = request
  const endsAt = Date.now() + statementTimeoutSeconds * 1000
  const limitTime = async () => {
    const left = String(Math.max(1, endsAt - Date.now()))
    // A statement that ran before may have changed it.
    await client.query("select set_config('statement_timeout', $1, true)", [left])
  }
  // The extended protocol takes one statement, and a cursor takes only a query that writes nothing.
  const declare = async (text: string) => {
    const query: ExtendedQuery = { text, values: [...values], queryMode: 'extended' }
    await client.query(query)
  }
  await client.query('begin read only')
  await client.query("select set_config('search_path', $1, true)", [schema])
  await limitTime()
  let sql = request.sql.trimEnd()
  while (sql.endsWith(';')) sql = sql.slice(0, -1).trimEnd()
  // First by itself: only a text that is one statement is put into another one.
  await declare(`declare shape no scroll cursor for ${sql}`)
  const { fields } = await client.query('fetch 0 from shape')
  if (fields.length === 0)
    throw new UsageError('The statement gives no column: write a select with columns.')
  const types = fields.map(({ dataTypeID }) => dataTypeID)
  const { rows: named } = await client.query<{ type: string }>(
    'select format_type(oid, null) as type from unnest($1::oid[]) with ordinality as t (oid, position) order by position',
    [types],
  )
  const maxBytes = maxKilobytes * 1000
  // The server sends no row that is wider than what is returned at most.
  const cellLength = Math.min(maxCellCharacters, Math.floor(maxBytes / fields.length / 4))
  const names = types.map((_, at) => `c${at}`)
  const cells = types.map((type, at) =>
    shortTypes.has(type)
      ? names[at]
      : `left(${names[at]}::text, ${cellLength + 1}) as ${names[at]}`,
  )
  await declare(
    `declare page no scroll cursor for select ${cells.join(', ')} from (${sql}\n) as q (${names.join(', ')})`,
  )
  const pages = async function* () {
    const text = `fetch ${rowsOfAPage} from page`
    for (;;) {
      await limitTime()
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' })
      yield* rows
      if (rows.length < rowsOfAPage) return
    }
  }
  const columns = fields.map(({ name }, at) => ({ name, type: named[at]!.type }))
  return { columns, ...(await takeRows(pages(), { ...request, maxBytes, cellLength })) }
}

/** Rows until one of the limits is reached. */
async function takeRows(
  all: AsyncIterable<readonly unknown[]>,
  limits: { readonly maxRows: number; readonly maxBytes: number; readonly cellLength: number },
): Promise<Omit<MartTable, 'columns'>> {
  const { maxRows, maxBytes, cellLength } = limits
  const rows: Cell[][] = []
  let [bytes, cutCells] = [0, 0]
  for await (const each of all) {
    const row = each.map(toCell)
    const isCut = row.map((cell) => typeof cell === 'string' && cell.length > cellLength)
    const shown = row.map((cell, at) =>
      isCut[at] ? `${String(cell).slice(0, cellLength).toWellFormed()}…` : cell,
    )
    bytes += Buffer.byteLength(JSON.stringify(shown))
    if (rows.length === maxRows || bytes > maxBytes) return { rows, truncated: true, cutCells }
    cutCells += isCut.filter(Boolean).length
    rows.push(shown)
  }
  return { rows, truncated: false, cutCells }
}

function toCell(value: unknown): Cell {
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return value as Cell
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  return String(value)
}
