import { type Kysely, sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { holdLock } from '../../warehouse/db/locks.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { addUser, isGeneratedAccount } from '../app-user.ts'
import type { Links } from './merge.ts'
import type { EvaluationRecord } from './normalise.ts'

/**
 * Finds the salespeople that evaluations name, by e-mail within the dealer group. Adds those that no user list has shown, marked
 * as not in the list: a list never shows generated link accounts [A §4 /getuserlist]. `read` adds none: they have no user_id.
 */
export async function linkSalespeople(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  records: readonly EvaluationRecord[],
  wire: AppraisalWire,
  mode: 'add' | 'read' = 'add',
): Promise<(record: EvaluationRecord) => Links> {
  const named = new Map<string, { email: string; name: string | null }>()
  for (const { user } of records) if (user) named.set(user.email, user)
  const emails = [...named.keys()]
  const ids = await userIds(db, rooftop.groupId, emails)
  const missing = emails.filter((email) => !ids.has(email)).sort()
  if (missing.length > 0 && mode === 'add') {
    // Two rooftops of a group may find the same new salesperson at once.
    await holdLock(db, 'salespeople', rooftop.groupId)
    const addUnlisted = async (email: string) => {
      const { user_id } = await addUser(db, rooftop, email, {
        display_name: named.get(email)!.name,
        is_generated_link_account: isGeneratedAccount(email, wire),
        ...{ is_active: null, in_user_list: false },
      })
      return user_id
    }
    for (const email of missing) {
      // One that was just added may have this e-mail in another case.
      const id = (await userIds(db, rooftop.groupId, [email])).get(email)
      ids.set(email, id ?? (await addUnlisted(email)))
    }
  }
  return (record) => ({ user_id: record.user ? (ids.get(record.user.email) ?? null) : null })
}

/** Ids by e-mail as given. Postgres lowers both sides, as its unique index does: our lower case differs, for example for a final sigma. */
async function userIds(
  db: Kysely<Tables>,
  groupId: number,
  emails: readonly string[],
): Promise<Map<string, number>> {
  if (emails.length === 0) return new Map()
  const { rows } = await sql<{ email: string; id: number }>`
    select given.email, user_id as id
    from unnest(${[...emails]}::text[]) as given (email)
    join pii.app_user_email as known on known.group_id = ${groupId} and lower(known.email) = lower(given.email)`.execute(
    db,
  )
  return new Map(rows.map(({ email, id }) => [email, id]))
}
