import { isIPv6 } from 'node:net'
import { sql } from 'kysely'
import type { Db } from '../../../warehouse/db/transaction.ts'

const triesAllowed = 10

/** How a person signs in. Failures count apart: for a wrong link no one needs an identity, so it must not stop the provider's. */
type SignInMethod = 'link' | 'oidc'

/** Whether a client has failed to sign in too often in the last 15 minutes. */
export async function isThrottled(db: Db, method: SignInMethod, address: string): Promise<boolean> {
  const { rows } = await sql<{ tries: number }>`
    select count(*)::int as tries from ops.console_try
    where address = ${clientNetwork(address)} and method = ${method} and tried_at > now() - interval '15 minutes'`.execute(
    db,
  )
  return rows[0]!.tries >= triesAllowed
}

/** Records a failed attempt; old ones are deleted. */
export async function recordFailedTry(
  db: Db,
  method: SignInMethod,
  address: string,
): Promise<void> {
  await sql`
    with old as (delete from ops.console_try where tried_at <= now() - interval '15 minutes')
    insert into ops.console_try (address, method) values (${clientNetwork(address)}, ${method})`.execute(
    db,
  )
}

/** How a client is named: by its IPv4 address, or the 64 bits of an IPv6 address that a provider gives to one customer. A proxy may
 *  pass on any other text. */
export function clientNetwork(address: string): string {
  const [bare = ''] = address.split('%')
  if (!isIPv6(bare)) return address.slice(0, 64)
  const v4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1]
  if (v4 !== undefined) return v4
  // The URL parser writes an address in one way.
  const [head = '', tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const groups = (part = '') => part.split(':').filter((group) => group !== '')
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill('0')
  return `${[...groups(head), ...zeros, ...groups(tail)].slice(0, 4).join(':')}::/64`
}
