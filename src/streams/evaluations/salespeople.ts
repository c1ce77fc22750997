import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../db/tables.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { isGeneratedAccount } from '../generated-account.ts'
import type { Links } from './merge.ts'
import type { EvaluationRecord } from './normalise.ts'
import { lockSql } from '../../db/locks.ts'

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
  for (const { user } of records) if (user) named.set(user.email.toLowerCase(), user)
  const emails = [...named.values()].map(({ email }) => email)
  let ids = await userIds(db, rooftop.groupId, emails)
  const missing = [...named]
    .filter(([email]) => !ids.has(email))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  if (missing.length > 0 && mode === 'add') {
    // Two rooftops of a group may find the same new salesperson at once.
    await sql`select ${sql.raw(lockSql.wait('salespeople', String(rooftop.groupId)))}`.execute(db)
    ids = await userIds(db, rooftop.groupId, emails)
    for (const [email, user] of missing) {
      if (!ids.has(email)) ids.set(email, await addUnlisted(db, rooftop.groupId, user, wire))
    }
  }
  return (record) => ({
    user_id: record.user ? (ids.get(record.user.email.toLowerCase()) ?? null) : null,
  })
}

async function userIds(
  db: Kysely<Tables>,
  groupId: number,
  emails: readonly string[],
): Promise<Map<string, number>> {
  if (emails.length === 0) return new Map()
  const rows = await db
    .selectFrom('pii.app_user_email')
    .select(['user_id', 'email'])
    .where('group_id', '=', groupId)
    // Postgres lowers both sides: its lower case may differ from ours, by the database's locale.
    .where(sql`lower(email)`, 'in', sql`(select lower(unnest(${[...emails]}::text[])))`)
    .execute()
  return new Map(rows.map((row) => [row.email.toLowerCase(), row.user_id]))
}

async function addUnlisted(
  db: Kysely<Tables>,
  groupId: number,
  user: { email: string; name: string | null },
  wire: AppraisalWire,
): Promise<number> {
  const { user_id } = await db
    .insertInto('core.app_user')
    .values({
      group_id: groupId,
      display_name: user.name,
      is_generated_link_account: isGeneratedAccount(user.email, wire),
      is_active: null,
      in_user_list: false,
    })
    .returning('user_id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('pii.app_user_email')
    .values({ user_id, group_id: groupId, email: user.email })
    .execute()
  return user_id
}
