import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { findPerson, type Person } from './people.ts'

/** A secret for a cookie or a link: random bytes. Only its hash is stored. */
export function newToken(bytes = 32): { readonly token: string; readonly hash: Buffer } {
  const token = randomBytes(bytes).toString('base64url')
  return { token, hash: hashToken(token) }
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Signs a person in and gives the new token for the cookie. Sessions that have ended are deleted. */
export async function startSession(
  db: Db,
  email: string,
  hours: number,
  userAgent: string | undefined,
): Promise<string> {
  const { token, hash } = newToken()
  await sql`
    with ended as (delete from ops.console_session where ends_at <= now())
    insert into ops.console_session (token_hash, email, ends_at, user_agent)
    values (${hash}, ${email}, now() + make_interval(hours => ${hours}), ${userAgent?.slice(0, 400) ?? null})`.execute(
    db,
  )
  return token
}

/** The person whose session a cookie names; null: there is none, it has ended, or the config no longer names the person. */
export async function findSession(db: Db, config: Config, token: string): Promise<Person | null> {
  const hash = hashToken(token)
  const { rows } = await sql<{ email: string; isOld: boolean }>`
    select email, seen_at < now() - interval '5 minutes' as "isOld"
    from ops.console_session where token_hash = ${hash} and ends_at > now()`.execute(db)
  const [session] = rows
  if (session === undefined) return null
  if (session.isOld)
    await sql`update ops.console_session set seen_at = now() where token_hash = ${hash}`.execute(db)
  return findPerson(config, session.email)
}

export async function endSession(db: Db, token: string): Promise<void> {
  await sql`delete from ops.console_session where token_hash = ${hashToken(token)}`.execute(db)
}
