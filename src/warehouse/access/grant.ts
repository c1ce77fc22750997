import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import type { AccessRole } from '../../app/config/access.ts'
import type { Config } from '../../app/config/read.ts'
import { UsageError } from '../../errors.ts'
import { dbOn } from '../db/transaction.ts'
import { type LoginState, readServerState } from './login-state.ts'
import { type PasswordCheck, planLogins } from './plan-logins.ts'
import { assertMayGrant } from './restore.ts'
import { planRights, runSteps, type Step } from './step.ts'

/** What was done, or would be done with `dryRun`. */
export interface GrantReport {
  readonly dryRun: boolean
  readonly steps: readonly { readonly what: string; readonly sql: string }[]
  readonly notes: readonly string[]
  readonly logins: readonly Pick<Config['access']['logins'][number], 'name' | 'role' | 'groups'>[]
  /** Logins in our roles that the config does not name: reported, never dropped. */
  readonly unknownLogins: readonly UnknownLogin[]
}

/** A login in one of our roles that the config does not name. */
export interface UnknownLogin {
  readonly name: string
  readonly roles: readonly AccessRole[]
  /** false: created by hand, or for another warehouse of the cluster. */
  readonly isOurs: boolean
  /** The SQL that removes it. */
  readonly statement: string
}

/** The options of one grant. */
interface GrantRequest {
  readonly pool: pg.Pool
  readonly url: string
  readonly config: Config
  readonly dryRun: boolean
  /** Removes logins that grant created and the config no longer names from our roles, and disables them. */
  readonly revokeRemoved?: boolean
}

/**
 * Sets roles, logins, row-level security and rights as the config and the marts require, in one transaction; what is right
 * is not touched. Roles belong to the cluster, so a conflict with a grant of another warehouse is retried.
 */
export async function grantAccess(request: GrantRequest): Promise<GrantReport> {
  if (!request.dryRun) await assertMayGrant(request.pool)
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryOnce(request)
    } catch (error) {
      if (!isRetryable(error)) throw error
      if (attempt === attempts)
        throw new UsageError(
          'The tables of the warehouse were always in use, so nothing was granted: run "forecourt grant" again when no run is loading.',
          { cause: error },
        )
      await sleep(50 + Math.random() * 250)
    }
  }
}

const attempts = 40

// Shorter than deadlock_timeout (1 s by default), so that grant gives way, not a loader.
const lockTimeout = '800ms'

async function tryOnce({
  pool,
  url,
  config,
  dryRun,
  revokeRemoved = false,
}: GrantRequest): Promise<GrantReport> {
  const client = await pool.connect()
  const db = dbOn(client)
  let broken = true
  try {
    await sql.raw(dryRun ? 'begin read only' : 'begin').execute(db)
    // Names are shown and compared with their schemas.
    await sql`set local lock_timeout = ${sql.lit(lockTimeout)}; set local search_path = ''`.execute(
      db,
    )
    // Blocks other grants and the building of marts.
    if (!dryRun) await sql`lock table ops.mart_version in share row exclusive mode`.execute(db)
    const { logins } = config.access
    const server = await readServerState(
      db,
      logins.map(({ name }) => name),
    )
    const rights = await planRights(db)
    const groups = config.rooftops.map(({ group }) => group)
    const people = await planLogins(logins, server, groups, passwordTrial(url))
    const unknown = findUnknownLogins(
      server.logins,
      logins.map(({ name }) => name),
    )
    const removed = revokeRemoved ? unknown.filter(({ isOurs }) => isOurs) : []
    const steps = [...rights.steps, ...people.steps, ...removed.flatMap(removalSteps)]
    if (!dryRun) await runSteps(db, steps)
    await sql`commit`.execute(db)
    broken = false
    return {
      dryRun,
      steps: steps.map(({ what, statement, shown }) => ({ what, sql: `${shown ?? statement};` })),
      notes: [...rights.notes, ...people.notes],
      logins: logins.map(({ name, role, groups }) => ({ name, role, groups })),
      unknownLogins: unknown.filter((login) => !removed.includes(login)),
    }
  } finally {
    if (broken) await sql`rollback`.execute(db).catch(() => undefined)
    client.release(broken)
  }
}

/** Whether a retry may succeed: another session creates or changes the same role, or locks a table. */
function isRetryable(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return (
    ['42710', '23505', '55P03', '40P01', '40001'].includes(code) ||
    (code === 'XX000' && message.includes('concurrently'))
  )
}

function findUnknownLogins(
  current: ReadonlyMap<string, LoginState>,
  named: readonly string[],
): UnknownLogin[] {
  return [...current.values()]
    .filter(
      ({ name, canLogin, memberOf }) => canLogin && memberOf.length > 0 && !named.includes(name),
    )
    .map(({ name, memberOf, madeAs }) => {
      const login = pg.escapeIdentifier(name)
      const isOurs = madeAs !== null
      const statement = isOurs
        ? `drop role ${login};`
        : `revoke ${memberOf.map((role) => pg.escapeIdentifier(role)).join(', ')} from ${login};`
      return { name, roles: memberOf, isOurs, statement }
    })
}

/** The role itself stays: it may own objects, or belong to another warehouse too. It stays recorded as ours, so it can be reactivated. */
function removalSteps({ name, roles }: UnknownLogin): Step[] {
  const login = pg.escapeIdentifier(name)
  const ours = roles.map((role) => pg.escapeIdentifier(role)).join(', ')
  return [
    {
      what: `login ${name}, which the config no longer names, is no longer in ${roles.join(', ')} and cannot log in`,
      statement: `revoke ${ours} from ${login}; alter role ${login} nologin; delete from ops.bi_access where role_name = ${pg.escapeLiteral(name)}`,
    },
  ]
}

/** Checks a password by connecting as the login. If the server asks for none, any password is right. */
function passwordTrial(url: string): PasswordCheck {
  return async (name, password) => {
    const address = new URL(url)
    address.username = name
    address.password = encodeURIComponent(password)
    address.searchParams.delete('user')
    address.searchParams.delete('password')
    const client = new pg.Client({
      connectionString: address.href,
      connectionTimeoutMillis: 10_000,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return true
    } catch (error) {
      // Too many connections of the login: the password was right.
      return (error as { code?: string }).code === '53300'
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}
