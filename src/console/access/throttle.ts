import { sql } from 'kysely'
import type { Db } from '../../db/transaction.ts'

const triesAllowed = 10

/** Whether an address has failed to sign in too often in the last 15 minutes. */
export async function isThrottled(db: Db, address: string): Promise<boolean> {
  const { rows } = await sql<{ tries: number }>`
    select count(*)::int as tries from ops.console_try
    where address = ${shortened(address)} and tried_at > now() - interval '15 minutes'`.execute(db)
  return rows[0]!.tries >= triesAllowed
}

/** Records a failed attempt; old ones are deleted. */
export async function recordFailedTry(db: Db, address: string): Promise<void> {
  await sql`
    with old as (delete from ops.console_try where tried_at <= now() - interval '15 minutes')
    insert into ops.console_try (address) values (${shortened(address)})`.execute(db)
}

/** A proxy may pass on any text as the address of its client. */
function shortened(address: string): string {
  return address.slice(0, 64)
}
