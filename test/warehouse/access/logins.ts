import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { type Config, makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { type GrantReport, grantAccess } from '#src/warehouse/access/grant.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import type { TestDatabase } from '../../support/postgres.ts'

type Draft = NonNullable<NonNullable<ConfigInput['access']>['logins']>[number]

/** Logins of one warehouse with unique names, because roles belong to the whole server. Disposing drops them. */
export interface Logins extends AsyncDisposable {
  readonly config: Config
  /** The role name for a test's `key`. */
  name(key: string): string
  password(key: string): string
  url(key: string): string
  grant(changes?: {
    readonly dryRun?: boolean
    readonly config?: Config
    readonly revokeRemoved?: boolean
  }): Promise<GrantReport>
  /** The same config with other logins, by the same keys. */
  configOf(drafts: Readonly<Record<string, Omit<Draft, 'name'>>>): Config
  /** A session of the login; closed on disposal. */
  as(key: string): Promise<pg.Client>
}

/** `config` is what the fixture was opened with. */
export async function openLogins(
  database: Pick<TestDatabase, 'pool' | 'url'>,
  config: Config,
  drafts: Readonly<Record<string, Omit<Draft, 'name'>>>,
): Promise<Logins> {
  const run = randomBytes(4).toString('hex')
  const name = (key: string) => `test_${key}_${run}`
  const password = (key: string) => `${key} @:/% pass'word ${run}`
  const clients: pg.Client[] = []
  const url = (key: string) => {
    const address = new URL(database.url)
    address.username = name(key)
    address.password = encodeURIComponent(password(key))
    return address.href
  }
  const configOf: Logins['configOf'] = (some) => {
    const logins = Object.entries(some).map(([key, draft]) => {
      return { password: password(key), ...draft, name: name(key) }
    })
    return { ...config, access: makeConfig({ access: { logins } }, '/nowhere').access }
  }
  const own = configOf(drafts)
  return {
    ...{ config: own, name, password, url, configOf },
    grant: async ({ dryRun = false, config: other = own, revokeRemoved = false } = {}) => {
      const { pool, url: address } = database
      return await grantAccess({ pool, url: address, config: other, dryRun, revokeRemoved })
    },
    as: async (key) => {
      const client = new pg.Client({ connectionString: url(key) })
      client.on('error', () => undefined)
      clients.push(client)
      await client.connect()
      return client
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clients.map((client) => client.end()))
      await dropRoles(database.url, Object.keys(drafts).map(name))
    },
  }
}

/** Drops roles that have only memberships. */
export async function dropRoles(url: string, names: readonly string[]): Promise<void> {
  const pool = await openPool(url, { applicationName: 'test', max: 1 })
  for (const name of names) await pool.query(`drop role if exists ${pg.escapeIdentifier(name)}`)
  await pool.end()
}

/** The result of a statement: its rows as objects, or its error. */
export async function resultOf(client: pg.Client, statement: string): Promise<string> {
  try {
    const { rows } = await client.query(statement)
    return `${rows.length} rows`
  } catch (error) {
    return (error as Error).message
  }
}
