import pg from 'pg'
import { errorText, SyncError, UnreachableError, UsageError } from '../../errors.ts'
import { decodePart } from '../../values/text.ts'

/** The name, size and time-outs of a pool. */
export interface PoolOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Connections at most, 10 unless given. */
  readonly max?: number
  /** When Postgres ends a session that sits in an open transaction: 60 000 unless given, 0 = never. */
  readonly idleInTransactionTimeoutMs?: number
  /** When Postgres ends a statement; default: the setting of the server. */
  readonly statementTimeoutMs?: number
  /** Sessions start read-only. */
  readonly isReadOnly?: true
  /** The setting that the url is from, for messages: `warehouse.url` unless given. */
  readonly setting?: string
}

const oldestServer = 15
/** How long a connection is waited for. */
export const connectTimeoutMs = 10_000
/** When Postgres ends a session that sits in an open transaction, unless a pool says otherwise. */
export const idleTimeoutMs = 60_000

/** What a statement may use to sort or hash, unless the server gives more. With the default of Postgres, 4 MB, the larger queries write
 *  files, and to compile them (JIT) takes longer than to run them: together a morning page of a million took seven times as long. */
const sortMemoryKb = 32_768

/** Opens a pool and checks that its Postgres answers. Sessions are in UTC, without JIT and with memory to sort; int8 is a number where
 *  safe, numeric and date are text.
 *  UsageError, without the password, when the url or the server cannot be used. */
export async function openPool(url: string, options: PoolOptions): Promise<pg.Pool> {
  const address = parseAddress(url, options.setting ?? 'warehouse.url')
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName,
    max: options.max ?? 10,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    types: rowTypes,
    onConnect: (client) => prepareSession(client, options),
  })
  // When the server ends a connection, the idle pool or the busy client emits 'error', which would kill the process without a
  // listener. The affected query rejects anyway.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  try {
    await assertServer(pool, address)
    return pool
  } catch (error) {
    await pool.end()
    throw error instanceof UsageError ? error : explain(error, address)
  }
}

/** An error with advice when Postgres ended our connection or is unreachable; any other error unchanged. */
export function explainConnectionLoss(error: unknown): unknown {
  if (!isConnectionLoss(error)) return error
  const advice = 'committed data stays; make sure that Postgres runs, then run the command again.'
  const message = `The connection to Postgres was lost (${errorText(error)}): ${advice}`
  return new Error(message, { cause: error })
}

/** Whether Postgres ended our connection, is unreachable or does not answer yet. A fault of the source never counts. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof SyncError) return false
  // Too many parameters have the connection code 08P01, like a loss at a pooler, but a retry would always fail.
  if (/^bind message/.test(errorText(error))) return false
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  // A container that restarts takes its name out of the DNS.
  return (
    isUnknownName(code) ||
    /^(57P\d\d|08\w{3}|25P03|53300|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(
      code,
    ) ||
    /Connection terminated|trying to connect|not queryable/.test(errorText(error))
  )
}

// A query, because poolers such as PgBouncer refuse settings in the start-up message.
async function prepareSession(client: pg.ClientBase, options: PoolOptions): Promise<void> {
  const timeout = options.idleInTransactionTimeoutMs ?? idleTimeoutMs
  await client.query({
    text: `select set_config('timezone', 'UTC', false),
       set_config('idle_in_transaction_session_timeout', $1::text, false),
       set_config('jit', 'off', false),
       set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, $2)::text, false)`,
    values: [String(timeout), sortMemoryKb],
  })
  if (options.isReadOnly)
    await client.query({ text: "select set_config('default_transaction_read_only', 'on', false)" })
  if (options.statementTimeoutMs === undefined) return
  const text = `select set_config('statement_timeout', $1::text, false)`
  await client.query({ text, values: [String(options.statementTimeoutMs)] })
}

async function assertServer(pool: pg.Pool, address: Address): Promise<void> {
  const { rows } = await pool.query<{ number: string; version: string }>(
    `select current_setting('server_version_num') as number,
            current_setting('server_version') as version`,
  )
  const server = rows[0]
  if (server !== undefined && Number(server.number) >= oldestServer * 10_000) return
  throw new UsageError(
    `The server at ${address.place} is Postgres ${server?.version}: ` +
      `forecourt needs ${oldestServer} or newer, so upgrade it or name another in ${address.setting}.`,
  )
}

interface Address {
  /** host:port/database, fit to be shown. */
  readonly place: string
  readonly user: string
  readonly database: string
  readonly setting: string
  /** Texts that must never be shown, in every spelling. */
  readonly secrets: readonly string[]
}

function parseAddress(url: string, setting: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^postgres(ql)?:$/.test(parsed.protocol))
    throw new UsageError(
      `The url of ${setting} is not of the form postgres://user:password@host:5432/database: ` +
        `correct ${setting} in the config (a password with special characters is %-encoded).`,
    )
  const host = parsed.hostname || parsed.searchParams.get('host') || 'localhost'
  const user = decodePart(parsed.username) || parsed.searchParams.get('user') || 'the default user'
  const database = decodePart(parsed.pathname.slice(1)) || user
  return {
    place: `${host}:${parsed.port || '5432'}/${database}`,
    ...{ user, database, setting },
    secrets: [
      parsed.password,
      decodePart(parsed.password),
      parsed.searchParams.get('password') ?? '',
    ].filter((secret) => secret !== ''),
  }
}

function explain(error: unknown, address: Address): UsageError {
  const code = (error as { code?: unknown } | null)?.code ?? ''
  const sentence = sentenceFor(String(code), errorText(error), address)
  const shown = address.secrets
    // A very short password would match in many words, and the mask would reveal it.
    .filter((secret) => secret.length >= 4)
    .reduce((text, secret) => text.replaceAll(secret, '***'), sentence)
  // No cause: the driver's error can hold its connection parameters.
  const isWrong = isTlsFault(String(code), errorText(error))
  if (isWrong || !isConnectionLoss(error)) return new UsageError(shown)
  return new UnreachableError(shown, isUnknownName(code))
}

function sentenceFor(
  code: string,
  message: string,
  { place, user, database, setting }: Address,
): string {
  if (code === '28P01' || code === '28000')
    return `Postgres at ${place} refused user ${user} (${message}): correct the user and password in ${setting}.`
  if (code === '3D000')
    return `Postgres at ${place} has no database ${database}: create it, or correct its name in ${setting}.`
  if (code === '53300')
    return `Postgres at ${place} has no connection left (${message}): raise max_connections or stop other programs.`
  if (isTlsFault(code, message))
    return `No secure connection to Postgres at ${place} (${message}): correct sslmode or the certificates in ${setting}.`
  if (/^E[A-Z_]+$/.test(code) || /timeout|terminated/i.test(message))
    return `Postgres at ${place} cannot be reached (${message}): start it, or correct host and port in ${setting}.`
  return `Postgres at ${place} cannot be used (${message}): correct that, or name another in ${setting}.`
}

/** No such host or database: it does not exist yet, or the name is wrong. */
function isUnknownName(code: unknown): boolean {
  return code === '3D000' || code === 'ENOTFOUND' || code === 'EAI_AGAIN'
}

function isTlsFault(code: string, message: string): boolean {
  return /SSL|TLS|CERT|SIGNED|VERIFY/.test(code) || /\b(SSL|TLS|certificate)\b/i.test(message)
}

type Parse = (text: string) => unknown

const { builtins } = pg.types
const textArray: number = 1009
const parseTextArray = pg.types.getTypeParser(textArray) as (text: string) => (string | null)[]

// Arrays follow the type of their items; by default pg parses numeric[] as floats and date[] as local midnights.
const parsers = new Map<number, Parse>([
  [builtins.INT8, parseInt8],
  [1016, (text) => parseTextArray(text).map((item) => (item === null ? null : parseInt8(item)))],
  [builtins.DATE, (text) => text],
  [1182, parseTextArray],
  [1231, parseTextArray],
])

/** Parsers of column values: int8 as number where safe (else text), numeric and date as text, timestamptz as Date. For the `types`
 *  option of a pool, so that other users of pg in the process are not affected. */
const rowTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' ? parsers.get(oid) : undefined) ??
    // biome-ignore format: one call
    pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

function parseInt8(text: string): number | string {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : text
}
