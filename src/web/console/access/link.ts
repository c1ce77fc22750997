import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { UsageError } from '../../../errors.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { findPerson } from './people.ts'
import { hashToken, newToken } from './session.ts'

/** How long a sign-in link may be used, in minutes. */
export const linkMinutes = 10

export function consoleIsOff(): UsageError {
  return new UsageError('The console is off: put a console: block into the config.')
}

/** Makes a link that signs a person in once. UsageError when the console is off or the config does not name the person. */
export async function makeLink(
  db: Db,
  config: Config,
  email: string,
  minutes = linkMinutes,
): Promise<string> {
  if (config.console === null) throw consoleIsOff()
  const person = findPerson(config, email)
  if (person === null) {
    const known = config.console.people.map((one) => one.email).join(', ')
    throw new UsageError(
      `${email} is not one of console.people (${known || 'it is empty'}): add the person to the config, or correct the address.`,
    )
  }
  // 128 bits last ten minutes, and the link of a console at 127.0.0.1 fits on a line of 80 columns.
  const { token, hash } = newToken(16)
  await sql`
    with ended as (delete from ops.console_link where ends_at <= now())
    insert into ops.console_link (token_hash, email, ends_at)
    values (${hash}, ${person.email}, now() + make_interval(mins => ${minutes}))`.execute(db)
  return `${config.console.publicUrl}/console/sign-in?link=${token}`
}

/** A link for a person, on a line by itself: it can be copied as one. */
export function linkLines(email: string, url: string): string[] {
  return [`Open this as ${email} within ${linkMinutes} minutes; it works once:`, '', url, '']
}

/** Uses a link up. Gives the e-mail address that it signs in; null: it was used before, is too old, or never existed. */
export async function takeLink(db: Db, token: string): Promise<string | null> {
  const { rows } = await sql<{ email: string; isOpen: boolean }>`
    delete from ops.console_link where token_hash = ${hashToken(token)}
    returning email, ends_at > now() as "isOpen"`.execute(db)
  const [link] = rows
  return link?.isOpen ? link.email : null
}
