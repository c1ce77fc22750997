import { type Kysely, type Selectable, sql } from 'kysely'
import { z } from 'zod'
import { listUsers } from '../../api/contract/appraisal/evaluations.ts'
import { type User, user as userShape } from '../../api/contract/appraisal/shapes.ts'
import {
  compareRows,
  type RowDifference,
  writeDifferences,
} from '../../sync/records/derive-rows.ts'
import { newestHashes, savePayloads, storableList } from '../../sync/records/load-records.ts'
import type {
  Derivation,
  DerivedTable,
  DeriveOptions,
  PayloadRows,
} from '../../sync/records/payload-rows.ts'
import { quarantineRecords, releaseAllBut } from '../../sync/records/quarantine.ts'
import { commitSlice } from '../../sync/run/commit-slice.ts'
import { pickSources } from '../../sync/run/sources.ts'
import { callOptions, type SliceJob, type SliceResult, type Stream } from '../../sync/run/stream.ts'
import { bodyHash } from '../../values/content-hash.ts'
import { partition } from '../../values/partition.ts'
import type { Issue, Rejected, Row } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { holdLock } from '../../warehouse/db/locks.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { addUser, isGeneratedAccount } from '../app-user.ts'

const name = 'users'
const endpoint = listUsers.name

const payloadRows: PayloadRows = {
  // The lists of a rooftop are one record: together they say who is active.
  keysOf: (rooftopIds) =>
    sql`select distinct rooftop_id, 'users' as key from raw.payload
      where rooftop_id in (${sql.join(rooftopIds)}) and endpoint = ${endpoint}`,
  derive: deriveUsers,
}

/**
 * Salespeople. The list answers for the whole dealer group of the rooftop that asks, and a key may cover several groups,
 * so every rooftop is asked.
 */
export const users: Stream = {
  name,
  endpoints: [endpoint],
  payloadRows,
  slices: { sync: readLists, retry: readLists },
  plan: async () => ({ lists: 2, reads: 0 }),
}

/** A list item by its key; an item with issues is left out. */
interface Item {
  readonly key: string
  readonly issues: readonly Issue[] | null
}

/** Reads both lists and loads them. An unchanged list writes nothing. */
async function readLists(job: SliceJob): Promise<SliceResult> {
  const { context, rooftop, run } = job
  const wire = context.config.wire.appraisal
  const lists = await receiveLists(job)
  const keys = userKeys(lists)
  return await commitSlice<Item>(job, {
    items: keys.map((key) => ({ key, issues: null })),
    store: async (tx, included) => {
      const includedKeys = new Set(included.map(({ key }) => key))
      const others = keys.filter((key) => !includedKeys.has(key))
      await loadUsers(tx, rooftop, lists, wire, new Map(others.map((key) => [key, []])))
    },
    reject: ({ key }, issues) => ({ key, issues }),
    write: async (tx, items) => {
      const refused = items.flatMap(({ key, issues }) => (issues ? [[key, issues] as const] : []))
      const { counts, rejected } = await loadUsers(tx, rooftop, lists, wire, new Map(refused))
      await saveChanged(tx, job, lists)
      const scope = { stream: name, rooftopId: rooftop.id, runId: run.runId }
      await quarantineRecords(
        tx,
        scope,
        rejected.map((item) => ({ ...item, window: null })),
      )
      await releaseAllBut(
        tx,
        scope,
        rejected.map(({ naturalKey }) => naturalKey),
      )
      const more = { quarantined: rejected.length, hydrated: lists.length }
      return { counts: { ...counts, ...more }, more: false }
    },
  })
}

/** A user carries no active flag: the list is read without and with `includeInactive` [A §4 /getuserlist]. */
async function receiveLists(job: SliceJob): Promise<UserList[]> {
  const { appraisal } = pickSources(job.context)
  const options = callOptions(job)
  const lists: UserList[] = []
  for (const includeInactive of [false, true]) {
    const { text, fetchedAt } = await appraisal.listUsers(job.rooftop, { includeInactive }, options)
    const naturalKey = includeInactive ? 'all' : 'active'
    lists.push({ naturalKey, text: storableList(text), fetchedAt })
  }
  return lists
}

async function saveChanged(
  tx: Tx,
  { rooftop, run }: SliceJob,
  lists: readonly UserList[],
): Promise<void> {
  const keys = lists.map(({ naturalKey }) => naturalKey)
  const stored = await newestHashes(tx.db, endpoint, rooftop, keys)
  const changed = lists
    .map((list) => ({ ...list, hash: bodyHash(list.text) }))
    .filter(({ naturalKey, hash }) => !stored.get(naturalKey)?.equals(hash))
  await savePayloads(tx, endpoint, rooftop, run.runId, changed)
}

interface ListedUser {
  readonly email: string
  readonly name: string | null
  readonly isActive: boolean
}

/** A list as received. */
interface UserList {
  readonly naturalKey: string
  readonly text: string
  readonly fetchedAt: Date
}

/** The keys of all items of the lists, as quarantine names them. */
function userKeys(lists: readonly UserList[]): string[] {
  return lists.flatMap(({ naturalKey, text }) =>
    parseItems(text).map((_, index) => userKey(naturalKey, index)),
  )
}

/** Updates the tables from the lists; writes only what differs. Rejects the `refused` items with their issues. */
async function loadUsers(
  tx: Tx,
  rooftop: RooftopRow,
  lists: readonly UserList[],
  wire: AppraisalWire,
  refused: ReadonlyMap<string, readonly Issue[]>,
) {
  const rejected: Rejected[] = []
  const items = parseLists(lists, refused, rejected)
  const group = await addMissing(tx.db, rooftop, items, wire)
  // A user whose membership and name are the same is as the last load left them.
  const changed = group.users.filter(
    ({ row, member, listed }) =>
      member !== (listed?.isActive ?? null) || (listed && listed.name !== row!.display_name),
  )
  const differences = await compareRows(
    tx.db,
    await mergeLists(tx.db, rooftop, group, changed, wire),
  )
  const [updates, memberships] = partition(differences, ({ table }) => table === 'core.app_user')
  const readAt = lists.at(-1)!.fetchedAt
  await writeDifferences(tx, [...updates.map((one) => changedAt(one, readAt)), ...memberships])
  const { added } = group
  const updated = new Set(updates.map(({ key }) => key['user_id'])).difference(added)
  const listed = group.users.filter((user) => user.listed !== undefined)
  const isWritten = (id: number) => added.has(id) || updated.has(id)
  const counts = {
    ...{ listed: listed.length, inserted: added.size },
    // Users that left the list too.
    updated: updated.size,
    unchanged: listed.filter(({ row }) => !isWritten(row!.user_id)).length,
  }
  return { counts, rejected }
}

function changedAt(difference: RowDifference, at: Date): RowDifference {
  const derived = { ...difference.derived, last_changed_at: at }
  return { ...difference, derived, columns: [...difference.columns, 'last_changed_at'] }
}

function parseItems(text: string): unknown[] {
  return z.array(z.unknown()).parse(JSON.parse(text))
}

function userKey(list: string, index: number): string {
  return `${list}[${index}]`
}

/** The users of the lists, those of the first one first: it holds the active ones. A user that does not fit is left out and reported. */
function parseLists(
  lists: readonly UserList[],
  refused: ReadonlyMap<string, readonly Issue[]>,
  rejected: Rejected[],
): ListedUser[] {
  const listed: ListedUser[] = []
  for (const { naturalKey: list, text } of lists) {
    for (const [index, item] of parseItems(text).entries()) {
      const naturalKey = userKey(list, index)
      const parsed = userShape.safeParse(item)
      const issues = refused.get(naturalKey) ?? userIssues(parsed, index)
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

function userIssues(parsed: z.ZodSafeParseResult<User>, index: number): readonly Issue[] | null {
  if (!parsed.success)
    return parsed.error.issues.map(({ path, message }) => ({
      path: `[${index}].${path.join('.')}`,
      message,
    }))
  if (parsed.data.Email.length <= 320) return null
  return [{ path: `[${index}].Email`, message: 'has more than 320 characters' }]
}

type UserRow = Selectable<Tables['core.app_user']>

/** A user of the dealer group, or one that a list names. */
interface GroupUser {
  /** null: not stored. */
  readonly row: UserRow | null
  /** In lower case; null: it was erased. */
  readonly email: string | null
  /** Whether active in the rooftop's stored list; null: not in it. */
  readonly member: boolean | null
  readonly listed: ListedUser | undefined
}

interface Group {
  readonly users: readonly GroupUser[]
  /** The members of the rooftop. */
  readonly members: readonly Row[]
}

/** The users of the dealer group, each with the first item of its e-mail, and the members of the rooftop. Postgres lowers all
 *  e-mails: its unique index goes by that, and ours differs, for example for a final sigma. */
async function readGroup(
  db: Kysely<Tables>,
  { id, groupId }: Pick<RooftopRow, 'id' | 'groupId'>,
  items: readonly ListedUser[],
): Promise<Group> {
  interface Found {
    readonly position: number | null
    readonly email: string | null
    readonly memberId: number | null
    readonly member: boolean | null
  }
  const { rows } = await sql<Found & (UserRow | { readonly user_id: null })>`
    select position, "memberId", member, person.*, coalesce(email, key) as email
    from (
      select lower(address.email) as email, app_user.*
      from core.app_user left join pii.app_user_email as address using (user_id) where app_user.group_id = ${groupId}
    ) as person
    full join (
      select distinct on (lower(email)) lower(email) as key, position::int
      from unnest(${items.map(({ email }) => email)}::text[]) with ordinality as item (email, position)
      order by lower(email), position
    ) as item on item.key = person.email
    full join (
      select user_id as "memberId", is_active as member from core.app_user_rooftop where rooftop_id = ${id}
    ) as member on "memberId" = user_id
    order by position, user_id`.execute(db)
  return {
    users: rows.flatMap(({ position, memberId: _, member, email, ...person }): GroupUser[] => {
      const listed = position === null ? undefined : items[position - 1]
      if (person.user_id !== null) return [{ row: person, email, member, listed }]
      return listed ? [{ row: null, email, member, listed }] : []
    }),
    members: rows.flatMap(({ memberId, member }) =>
      memberId === null ? [] : [{ rooftop_id: id, user_id: memberId, is_active: member }],
    ),
  }
}

/** Reads the dealer group, and inserts the listed users that are not stored. */
async function addMissing(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  items: readonly ListedUser[],
  wire: AppraisalWire,
): Promise<Group & { readonly added: ReadonlySet<unknown> }> {
  // Serialised with the salespeople that evaluations bring in.
  await holdLock(db, 'salespeople', rooftop.groupId)
  const group = await readGroup(db, rooftop, items)
  const users: GroupUser[] = []
  const added = new Set<unknown>()
  for (const user of group.users) {
    const row =
      user.row ?? (await addUser(db, rooftop, user.listed!.email, mergeUser(user, [], wire)))
    users.push({ ...user, row })
    if (user.row === null) added.add(row.user_id)
  }
  return { ...group, users, added }
}

/** The rows of the users, and of all members of the rooftop, as its lists make them. Load, replay and verification go by it. */
async function mergeLists(
  db: Kysely<Tables>,
  { id, groupId }: RooftopRow,
  group: Group,
  users: readonly GroupUser[],
  wire: AppraisalWire,
): Promise<DerivedTable[]> {
  const stored = users.flatMap(({ row }) => row ?? [])
  const others = sql<{ user_id: number; is_active: boolean }>`
    select user_id, is_active from core.app_user_rooftop join core.rooftop using (rooftop_id)
    where group_id = ${groupId} and rooftop_id <> ${id} and user_id = any(${stored.map(({ user_id }) => user_id)}::bigint[])`
  const otherMemberships = Map.groupBy(
    stored.length === 0 ? [] : (await others.execute(db)).rows,
    ({ user_id }) => user_id as number | undefined,
  )
  const derived = users.map((user) => ({
    ...(user.row ?? { user_id: null }),
    ...mergeUser(user, otherMemberships.get(user.row?.user_id) ?? [], wire),
  }))
  const members = group.users.flatMap(({ row, listed }) =>
    listed ? [{ rooftop_id: id, user_id: row?.user_id ?? null, is_active: listed.isActive }] : [],
  )
  const recordOf = () => 'users'
  return [
    { table: 'core.app_user', stored: stored.map((row) => ({ ...row })), derived, recordOf },
    { table: 'core.app_user_rooftop', stored: group.members, derived: members, recordOf },
  ]
}

/** Merges the lists into a user of the dealer group. `otherMemberships`: those at other rooftops. Pure. */
function mergeUser(
  { row, email, listed }: GroupUser,
  otherMemberships: readonly { readonly is_active: boolean }[],
  wire: AppraisalWire,
) {
  const active = [
    ...otherMemberships.map(({ is_active }) => is_active),
    ...(listed ? [listed.isActive] : []),
  ]
  const isListed = active.length > 0
  // One that was never listed is neither active nor inactive.
  const before = row?.in_user_list && row.is_active !== null ? false : (row?.is_active ?? null)
  return {
    display_name: listed ? listed.name : (row?.display_name ?? null),
    in_user_list: isListed,
    is_active: isListed ? active.includes(true) : before,
    is_generated_link_account:
      email === null ? row!.is_generated_link_account : isGeneratedAccount(email, wire),
  }
}

/** The rows that the newest lists of a rooftop make. */
async function deriveUsers(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  keys: readonly string[],
  { wire: { appraisal: wire }, mode }: DeriveOptions,
): Promise<Derivation> {
  if (keys.length === 0) return { tables: [], unfit: [] }
  const rejected: Rejected[] = []
  const items = parseLists(await newestLists(db, rooftop.id), new Map(), rejected)
  const read = async () => await readGroup(db, rooftop, items)
  const group = mode === 'add' ? await addMissing(db, rooftop, items, wire) : await read()
  const users = await withNamesInGroup(db, rooftop, group.users)
  return { tables: await mergeLists(db, rooftop, group, users, wire), unfit: rejected }
}

/** The newest lists of a rooftop. */
async function newestLists(db: Kysely<Tables>, rooftopId: number): Promise<UserList[]> {
  const { rows } = await sql<UserList>`
    select distinct on (natural_key) natural_key as "naturalKey", fetched_at as "fetchedAt", body::text as text
    from raw.payload where rooftop_id = ${rooftopId} and endpoint = ${endpoint}
    order by natural_key, fetched_at desc`.execute(db)
  return rows
}

/** A user may have another name at another rooftop of the group. The last list that was loaded names them, and which one that was
 *  is not known: a stored name stays when any list of the group has it. */
async function withNamesInGroup(
  db: Kysely<Tables>,
  { id, groupId }: RooftopRow,
  users: readonly GroupUser[],
): Promise<readonly GroupUser[]> {
  const isNamed = ({ row, listed }: GroupUser) =>
    !row || !listed || listed.name === row.display_name
  if (users.every(isNamed)) return users
  const { rows } = await sql<{ id: number }>`
    select rooftop_id as id from core.rooftop where group_id = ${groupId} and rooftop_id <> ${id}`.execute(
    db,
  )
  const known = new Set<number | undefined>()
  for (const { id } of rows) {
    const items = parseLists(await newestLists(db, id), new Map(), [])
    const others = await readGroup(db, { id, groupId }, items)
    for (const user of others.users) if (user.listed && isNamed(user)) known.add(user.row?.user_id)
  }
  return users.map((user) => {
    const { row, listed } = user
    return row && listed && known.has(row.user_id)
      ? { ...user, listed: { ...listed, name: row.display_name } }
      : user
  })
}
