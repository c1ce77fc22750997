import { sql } from 'kysely'
import { listUsers } from '../../api/contract/appraisal/evaluations.ts'
import { newestHashes, savePayloads, storableList } from '../../sync/records/load-records.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { quarantineRecords, releaseAllBut } from '../../sync/records/quarantine.ts'
import { commitSlice } from '../../sync/run/commit-slice.ts'
import { pickSources } from '../../sync/run/sources.ts'
import { callOptions, type SliceJob, type SliceResult, type Stream } from '../../sync/run/stream.ts'
import { bodyHash } from '../../values/content-hash.ts'
import type { Issue } from '../../values/record.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { deriveUsers, loadUsers, type UserList, userKeys } from './user-list.ts'

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
