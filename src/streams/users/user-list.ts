import { type Kysely, sql } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../../db/tables.ts'
import { listUsers } from '../../contract/appraisal/evaluations.ts'
import { type User, user as userShape } from '../../contract/appraisal/shapes.ts'
import type { DeriveOptions, Derivation } from '../../pipeline/payload-rows.ts'
import { partition } from '../../values/partition.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { isGeneratedAccount } from '../generated-account.ts'
import type { Issue, Rejected, Row } from '../../values/record.ts'
import { lockSql } from '../../db/locks.ts'

interface ListedUser {
  readonly email: string
  readonly name: string | null
  readonly isActive: boolean
}

/** A list as received. */
export interface UserList {
  readonly naturalKey: string
  readonly text: string
  readonly fetchedAt: Date
}

/** The keys of all items of the lists, as quarantine names them. */
export function keysOf(lists: readonly UserList[]): string[] {
  return lists.flatMap(({ naturalKey, text }) =>
    itemsOf(text).map((_, index) => keyOf(naturalKey, index)),
  )
}

/** Updates the tables from the lists; writes only what differs. Rejects the `refused` items with their issues. */
export async function loadUsers(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  lists: readonly UserList[],
  wire: AppraisalWire,
  refused: ReadonlyMap<string, readonly Issue[]> = new Map(),
) {
  const rejected: Rejected[] = []
  const items = readLists(lists, refused, rejected)
  // Serialised with the salespeople that evaluations bring in.
  await sql`select ${sql.raw(lockSql.wait('salespeople', String(rooftop.groupId)))}`.execute(db)
  const { listed, stored } = await matchUsers(db, rooftop.groupId, items)
  const fresh = [...listed].filter(([key]) => !stored.has(key))
  for (const [key, user] of fresh) stored.set(key, await insert(db, rooftop, user, wire))
  const renamed = [...listed].filter(([key, user]) => stored.get(key)!.name !== user.name)
  for (const [key, user] of renamed) await rename(db, stored.get(key)!.userId, user.name)
  const moved = await listMembers(
    db,
    rooftop,
    new Map([...listed].map(([key, user]) => [stored.get(key)!.userId, user.isActive])),
  )
  const ids = [...listed.keys()].map((key) => stored.get(key)!.userId)
  const inserted = new Set(fresh.map(([key]) => stored.get(key)!.userId))
  // Users that left the list are updated too.
  const changed = new Set([...renamed.map(([key]) => stored.get(key)!.userId), ...moved])
  const counts = {
    listed: listed.size,
    inserted: inserted.size,
    updated: changed.difference(inserted).size,
    unchanged: ids.filter((id) => !inserted.has(id) && !changed.has(id)).length,
  }
  return { counts, rejected }
}

function itemsOf(text: string): unknown[] {
  return z.array(z.unknown()).parse(JSON.parse(text))
}

function keyOf(list: string, index: number): string {
  return `${list}[${index}]`
}

/** The users of the lists, those of the first one first: it holds the active ones. A user that does not fit is left out and reported. */
function readLists(
  lists: readonly UserList[],
  refused: ReadonlyMap<string, readonly Issue[]>,
  rejected: Rejected[],
): ListedUser[] {
  const listed: ListedUser[] = []
  for (const { naturalKey: list, text } of lists) {
    for (const [index, item] of itemsOf(text).entries()) {
      const naturalKey = keyOf(list, index)
      const parsed = userShape.safeParse(item)
      const issues = refused.get(naturalKey) ?? issuesOf(parsed, index)
      if (issues !== null || !parsed.success) {
        rejected.push({ naturalKey, issues: issues ?? [], payload: JSON.stringify(item) })
        continue
      }
      const email = storable(parsed.data.Email.trim())
      const name = parsed.data.Name ? storable(parsed.data.Name).slice(0, 200) : null
      listed.push({ email, name, isActive: list === 'active' })
    }
  }
  return listed
}

function issuesOf(parsed: z.ZodSafeParseResult<User>, index: number): readonly Issue[] | null {
  if (!parsed.success)
    return parsed.error.issues.map(({ path, message }) => ({
      path: `[${index}].${path.join('.')}`,
      message,
    }))
  if (parsed.data.Email.length <= 320) return null
  return [{ path: `[${index}].Email`, message: 'has more than 320 characters' }]
}

interface StoredUser {
  readonly userId: number
  readonly name: string | null
}

/** The listed users, the first one of each e-mail, and all users of the dealer group, both by lower-case e-mail. Postgres
 *  lowers both: its unique index goes by that, and ours differs, for example for a final sigma. */
async function matchUsers(
  db: Kysely<Tables>,
  groupId: number,
  items: readonly ListedUser[],
): Promise<{ listed: Map<string, ListedUser>; stored: Map<string, StoredUser> }> {
  const { rows } = await sql<{
    key: string
    position: number | null
    userId: number | null
    name: string | null
  }>`
    select coalesce(item.key, known.key) as key, position::int as position, user_id as "userId", display_name as name
    from (
      select lower(email) as key, position from unnest(${items.map(({ email }) => email)}::text[]) with ordinality as item (email, position)
    ) as item
    full join (
      select lower(email) as key, person.user_id, display_name
      from core.app_user as person join pii.app_user_email as address using (user_id) where person.group_id = ${groupId}
    ) as known on known.key = item.key
    order by position`.execute(db)
  const listed = new Map<string, ListedUser>()
  const stored = new Map<string, StoredUser>()
  for (const { key, position, userId, name } of rows) {
    if (position !== null && !listed.has(key)) listed.set(key, items[position - 1]!)
    if (userId !== null) stored.set(key, { userId, name })
  }
  return { listed, stored }
}

async function insert(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  user: ListedUser,
  wire: AppraisalWire,
): Promise<StoredUser> {
  const { user_id } = await db
    .insertInto('core.app_user')
    .values({
      group_id: rooftop.groupId,
      display_name: user.name,
      is_generated_link_account: isGeneratedAccount(user.email, wire),
      is_active: user.isActive,
      in_user_list: true,
    })
    .returning('user_id')
    .executeTakeFirstOrThrow()
  const email = { user_id, group_id: rooftop.groupId, email: user.email }
  await db.insertInto('pii.app_user_email').values(email).execute()
  return { userId: user_id, name: user.name }
}

async function rename(db: Kysely<Tables>, userId: number, name: string | null): Promise<void> {
  await db
    .updateTable('core.app_user')
    .set({ display_name: name, last_changed_at: sql<Date>`now()` })
    .where('user_id', '=', userId)
    .execute()
}

/** Updates the rooftop's memberships from its list; returns the users whose state in the group changed. */
async function listMembers(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  members: ReadonlyMap<number, boolean>,
): Promise<number[]> {
  const rows = await db
    .selectFrom('core.app_user_rooftop')
    .select(['user_id', 'is_active'])
    .where('rooftop_id', '=', rooftop.id)
    .execute()
  const before = new Map(rows.map((row) => [row.user_id, row.is_active]))
  const changed = [...members].filter(([userId, isActive]) => before.get(userId) !== isActive)
  const left = [...before.keys()].filter((userId) => !members.has(userId))
  const affected = [...changed.map(([userId]) => userId), ...left]
  if (affected.length === 0) return []
  await db
    .deleteFrom('core.app_user_rooftop')
    .where('rooftop_id', '=', rooftop.id)
    .where('user_id', 'in', affected)
    .execute()
  const values = changed.map(([user_id, is_active]) => ({
    rooftop_id: rooftop.id,
    user_id,
    is_active,
  }))
  if (values.length > 0) await db.insertInto('core.app_user_rooftop').values(values).execute()
  const { rows: moved } = await sql<{ user_id: number }>`
    update core.app_user as person
    set in_user_list = membership.listed, is_active = membership.active, last_changed_at = now()
    from (
      select affected.user_id, count(member.user_id) > 0 as listed, coalesce(bool_or(member.is_active), false) as active
      from unnest(${affected}::bigint[]) as affected (user_id)
      left join core.app_user_rooftop as member on member.user_id = affected.user_id
      group by affected.user_id
    ) as membership
    where membership.user_id = person.user_id
      and (person.in_user_list, person.is_active) is distinct from (membership.listed, membership.active)
    returning person.user_id`.execute(db)
  return moved.map((row) => row.user_id)
}

/** The users of the newest lists of a rooftop, with their memberships there. A user may have another name at another rooftop of
 *  the group: the last list that was loaded names them. */
export async function deriveUsers(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  keys: readonly string[],
  { wire: { appraisal: wire }, mode }: DeriveOptions,
): Promise<Derivation> {
  if (keys.length === 0) return { tables: [], unfit: [] }
  const rejected: Rejected[] = []
  const items = readLists(await newestLists(db, [rooftop.id]), new Map(), rejected)
  if (mode === 'add')
    await sql`select ${sql.raw(lockSql.wait('salespeople', String(rooftop.groupId)))}`.execute(db)
  const { listed, stored: known } = await matchUsers(db, rooftop.groupId, items)
  if (mode === 'add')
    for (const [key, user] of listed)
      if (!known.has(key)) known.set(key, await insert(db, rooftop, user, wire))
  const members = [...listed].map(([key, { isActive }]) => ({
    ...{ rooftop_id: rooftop.id, user_id: known.get(key)?.userId ?? null, is_active: isActive },
  }))
  const { rows: all } = await sql<Row>`
    select member.* from core.app_user_rooftop as member join core.rooftop using (rooftop_id)
    where group_id = ${rooftop.groupId}`.execute(db)
  const [own, others] = partition(all, (row) => row['rooftop_id'] === rooftop.id)
  const activeBy = Map.groupBy([...members, ...others], (row) => (row as Row)['user_id'])
  const { rows: stored } = await sql<Row>`
    select * from core.app_user where group_id = ${rooftop.groupId}`.execute(db)
  const emails = new Map([...known].map(([key, { userId }]) => [userId, key]))
  const names = await namesInGroup(db, rooftop.groupId, listed, known)
  const derived = stored.map((row) => {
    const memberships = activeBy.get(row['user_id'])
    const email = emails.get(row['user_id'] as number)
    const user = email === undefined ? undefined : listed.get(email)
    const isListed = memberships !== undefined
    return {
      ...row,
      in_user_list: isListed,
      ...(isListed ? { is_active: memberships.some((one) => (one as Row)['is_active']) } : {}),
      ...(email === undefined
        ? {}
        : { is_generated_link_account: isGeneratedAccount(email, wire) }),
      ...(user && !names.get(email!)?.has(row['display_name'] as string | null)
        ? { display_name: user.name }
        : {}),
    }
  })
  const missing = [...listed].flatMap(([key]) => (known.has(key) ? [] : [{ user_id: null }]))
  const recordOf = () => 'users'
  return {
    tables: [
      { table: 'core.app_user', stored, derived: [...derived, ...missing], recordOf },
      { table: 'core.app_user_rooftop', stored: own, derived: members, recordOf },
    ],
    unfit: rejected,
  }
}

/** The newest lists of rooftops. */
async function newestLists(db: Kysely<Tables>, rooftopIds: readonly number[]): Promise<UserList[]> {
  const { rows } = await sql<UserList>`
    select distinct on (natural_key, rooftop_id) natural_key as "naturalKey", fetched_at as "fetchedAt", body::text as text
    from raw.payload where rooftop_id = any(${[...rooftopIds]}::int[]) and endpoint = ${listUsers.name}
    order by natural_key, rooftop_id, fetched_at desc`.execute(db)
  return rows
}

/** By e-mail: the names in any list of the group. Only a user whose stored name is not in the given list needs the others. */
async function namesInGroup(
  db: Kysely<Tables>,
  groupId: number,
  listed: ReadonlyMap<string, ListedUser>,
  known: ReadonlyMap<string, StoredUser>,
): Promise<ReadonlyMap<string, ReadonlySet<string | null>>> {
  const names = new Map([...listed].map(([key, { name }]) => [key, new Set([name])]))
  if ([...listed].every(([key, { name }]) => known.get(key)?.name === name)) return names
  const { rows } = await sql<{ id: number }>`
    select rooftop_id as id from core.rooftop where group_id = ${groupId}`.execute(db)
  for (const { id } of rows) {
    const items = readLists(await newestLists(db, [id]), new Map(), [])
    const { listed: others } = await matchUsers(db, groupId, items)
    for (const [key, { name }] of others) names.get(key)?.add(name)
  }
  return names
}
