import { type ConsoleRole, emailKey } from '../../../app/config/console.ts'
import type { Config } from '../../../app/config/read.ts'

/** A person who may open the console. */
export interface Person {
  readonly email: string
  readonly role: ConsoleRole
  /** The uids of the rooftops that the person sees; null: all. */
  readonly rooftops: readonly string[] | null
}

/** The person with an e-mail address, as the config says now; null: the config does not name them. */
export function findPerson(config: Config, email: string): Person | null {
  const wanted = emailKey(email)
  const found = config.console?.people.find((person) => person.email === wanted)
  if (found === undefined) return null
  const { role, groups } = found
  if (role !== 'stock') return { email: wanted, role, rooftops: null }
  const named = config.rooftops.filter(
    ({ uid, group }) => found.rooftops.includes(uid) || groups.includes(group),
  )
  return { email: wanted, role, rooftops: named.map(({ uid }) => uid) }
}
