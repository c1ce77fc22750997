import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../warehouse/db/transaction.ts'
import type { Person } from './people.ts'

/** The role whose rights end what a person of role stock may read; made by `forecourt grant`. */
const scopedRole = 'forecourt_console'

/** `forecourt grant` was not run in this warehouse, so row-level security cannot limit what a person reads. */
export class NotGranted extends Error {
  override readonly name = 'NotGranted'
}

/** Limits the open transaction to the rooftops of a person, by row-level security: their pages read the views of `mart_scoped` alone.
 *  Does nothing for a person who sees everything. NotGranted when the role is not there. */
export async function enterScope(db: Db, { rooftops }: Person): Promise<void> {
  if (rooftops === null) return
  const { rows } = await sql<{ isGranted: boolean }>`
    select set_config('forecourt.rooftops', (
        select coalesce(string_agg(rooftop_id::text, ','), '') from core.rooftop where rooftop_uid = any (${[...rooftops]}::text[])
      ), true),
      set_config('forecourt.rooftop_uids', ${JSON.stringify(rooftops)}, true),
      exists (
        select from pg_roles as r
        where r.rolname = ${scopedRole} and pg_has_role(session_user, r.oid, 'member') and has_schema_privilege(r.oid, 'mart_scoped', 'usage')
      ) as "isGranted"`.execute(db)
  if (rows[0]?.isGranted !== true) throw new NotGranted(`the role ${scopedRole} cannot be used`)
  await sql`set local role ${sql.id(scopedRole)}`.execute(db)
}

/** The uids of the rooftops that `enterScope` has limited the transaction to, also of those that no sync has seen; null: not limited. */
export async function scopedUids(db: Db): Promise<readonly string[] | null> {
  const { rows } = await sql<{ uids: string[] | null }>`
    select nullif(current_setting('forecourt.rooftop_uids', true), '')::json as uids`.execute(db)
  return rows[0]!.uids
}

/** The schema of the marts that a person reads: `from ${martSchema(person)}.fact_stock_unit`. */
export function martSchema({ rooftops }: Person): RawBuilder<unknown> {
  return sql.raw(rooftops === null ? 'mart' : 'mart_scoped')
}
