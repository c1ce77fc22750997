import type { Insertable, Kysely, Selectable } from 'kysely'
import type { RooftopRow } from '../values/rooftop.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Tables } from '../warehouse/db/tables.ts'

/** Whether an account was generated for an evaluation captured through a link: only the suffix of its e-mail shows it
 *  [A §2 UserName, UserEmail]. */
export function isGeneratedAccount(email: string, wire: AppraisalWire): boolean {
  return email.toLowerCase().endsWith(wire.generatedUser.emailSuffix.toLowerCase())
}

/** Inserts a salesperson of a dealer group. */
export async function addUser(
  db: Kysely<Tables>,
  { groupId: group_id }: RooftopRow,
  email: string,
  user: Omit<Insertable<Tables['core.app_user']>, 'group_id'>,
): Promise<Selectable<Tables['core.app_user']>> {
  const row = await db
    .insertInto('core.app_user')
    .values({ ...user, group_id })
    .returningAll()
    .executeTakeFirstOrThrow()
  const { user_id } = row
  await db.insertInto('pii.app_user_email').values({ user_id, group_id, email }).execute()
  return row
}
