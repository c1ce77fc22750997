import { type RawBuilder, sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { nextKeys } from '../records/derive-rows.ts'

// To compare everything each night would cost the more the longer the history is. So the job "verify" compares in rounds: what has
// changed, and a share of the rest. All rounds share the time of a night. Whatever was compared the longest time ago comes first, and
// goes on where it stopped, so each of them has its turn however little time there is.

/** Records or windows compared in one transaction, at most; a comparison may have a limit of its own. */
const keysAtOnce = 100
/** What differs is compared again by each verification, at most this many keys of a stream of a rooftop. */
const againAtMost = 1000

/** What is needed to compare. */
type Comparing = Pick<Warehouse, 'pool' | 'db' | 'config'>

/** What is compared in rounds: the records of a stream, its windows, or the months of its sums, by their keys. */
export interface Comparison {
  readonly stream: string
  readonly kind: keyof typeof foundKinds
  /** Of dealer groups, not of rooftops: each is compared, and stored, at the first rooftop of its group. */
  readonly isOfGroups?: true
  readonly keys: Keys
  readonly keysAtOnce?: number
  /** As many of the keys, from the first on, as one transaction may compare; one at least. Left out: all. */
  bounded?(db: Db, rooftop: RooftopRow, keys: readonly string[]): Promise<readonly string[]>
  /** What to compare every night, besides the share; left out: nothing. */
  changed?(db: Db, rooftop: RooftopRow, through: Date | null): Promise<ChangedKeys>
  /** Compares in a snapshot of its own. */
  compare(
    warehouse: Comparing,
    rooftop: RooftopRow,
    keys: readonly string[],
  ): Promise<readonly Difference[]>
  /** What follows from the differences, in the transaction that stores them; left out: nothing. */
  onFound?(db: Db, rooftop: RooftopRow, found: readonly Difference[]): Promise<void>
}

/** The keys of a rooftop in their order. */
interface Keys {
  /** About how many there are, as a query of one number. */
  count(rooftop: RooftopRow): RawBuilder<unknown>
  /** `after` is empty at first. */
  next(db: Db, rooftop: RooftopRow, after: string, limit: number): Promise<string[]>
}

/** The keys that a query of rooftop_id and key selects. */
export function queriedKeys(keysOf: (rooftopIds: readonly number[]) => RawBuilder<unknown>): Keys {
  return {
    count: ({ id }) => sql`select count(*) from (${keysOf([id])}) as record`,
    next: async (db, { id }, after, limit) => await nextKeys(db, keysOf([id]), after, limit),
  }
}

/** Keys that have changed, and until when that is known. */
interface ChangedKeys {
  readonly keys: readonly string[]
  readonly through: Date | null
  /** Whether they are all keys. */
  readonly isWhole: boolean
}

/** What differs: the key of the record or window, and a text without values. */
export interface Difference {
  readonly kind: (typeof foundKinds)[keyof typeof foundKinds][number]
  readonly record: string
  readonly difference: string
  readonly span?: { readonly from: string; readonly until: string }
}

/** How far a stream of a rooftop is in its round. */
interface Round {
  readonly startedAt: Date
  readonly records: number
  readonly compared: number
  readonly lastKey: string
  readonly listedThrough: Date | null
  /** The last key of what has changed that was compared; empty: none, or all of them. */
  readonly changedKey: string
  /** What `listedThrough` becomes once all that has changed is compared. */
  readonly changedThrough: Date | null
  /** Nights since its start. */
  readonly nights: number
}

/** What one night compared. */
interface ComparedShare {
  /** How many keys, by kind. */
  readonly records: Readonly<Record<Comparison['kind'], number>>
  /** false: its time was over before the share was done. */
  readonly isDone: boolean
}

/**
 * Compares what has changed of each stream and rooftop, what differed before, and the next share of the rest, so that all of it is
 * compared once in `verify.withinNights`. Short transactions; the position is stored after each slice, so the next night continues
 * there, also after a stop. A night compares one slice at least.
 */
export async function compareShare(
  warehouse: Comparing,
  comparisons: readonly Comparison[],
  rooftops: readonly RooftopRow[],
  signal: AbortSignal,
): Promise<ComparedShare> {
  const { minutes, withinNights } = warehouse.config.verify
  const until = performance.now() + minutes * 60_000
  const records = { ids: 0, sums: 0, records: 0, vehicles: 0, values: 0 }
  let slices = 0
  const isOver = () => signal.aborted || (slices > 0 && performance.now() >= until)
  const compare = async (...of: Parameters<typeof compareSlice>) => {
    const done = await compareSlice(...of)
    slices++
    records[of[1].kind] += done
    return done
  }
  for (const [comparison, rooftop] of await leastRecent(warehouse.db, comparisons, rooftops)) {
    if (isOver()) return { records, isDone: false }
    const round = await readRound(warehouse.db, comparison, rooftop)
    const again = await differingKeys(warehouse.db, comparison, rooftop)
    const changed = await comparison.changed?.(warehouse.db, rooftop, round.listedThrough)
    const isWhole = changed?.isWhole === true
    const isBegun = round.changedKey !== ''
    const through = (isBegun ? round.changedThrough : changed?.through) ?? null
    const first = [...new Set([...again, ...(changed?.keys ?? [])])]
      .sort()
      .filter((key) => key > round.changedKey)
    for (let at = 0; at < first.length; ) {
      at += await compare(warehouse, comparison, rooftop, first.slice(at), {
        ...{ kind: 'changed', through },
      })
      if (at < first.length && isOver()) return { records, isDone: false }
    }
    await saveChanged(warehouse.db, comparison, rooftop, { lastKey: null, through, isWhole })
    let left = isWhole ? 0 : nightShare(round, withinNights)
    let after = round.lastKey
    while (left > 0) {
      const limit = Math.min(comparison.keysAtOnce ?? keysAtOnce, left)
      const next = await comparison.keys.next(warehouse.db, rooftop, after, limit)
      const isLast = next.length < limit
      const done = await compare(warehouse, comparison, rooftop, next, { kind: 'round', isLast })
      left = isLast && done === next.length ? 0 : left - done
      after = next[done - 1] ?? after
      if (left > 0 && isOver()) return { records, isDone: false }
    }
  }
  return { records, isDone: true }
}

/** Which position a slice moves: that of the round, or that in what has changed. */
type Position =
  | { readonly kind: 'round'; readonly isLast: boolean }
  | { readonly kind: 'changed'; readonly through: Date | null }

/** Compares as many of the keys as fit in a transaction, and stores what differs; returns how many. */
async function compareSlice(
  warehouse: Comparing,
  comparison: Comparison,
  rooftop: RooftopRow,
  some: readonly string[],
  position?: Position,
): Promise<number> {
  const next = some.slice(0, comparison.keysAtOnce ?? keysAtOnce)
  const isBounded = comparison.bounded !== undefined && next.length > 0
  const keys = isBounded ? await comparison.bounded!(warehouse.db, rooftop, next) : next
  const found = keys.length === 0 ? [] : await comparison.compare(warehouse, rooftop, keys)
  await inTransaction(warehouse.pool, async ({ db }) => {
    await saveFound(db, { stream: comparison.stream, kind: comparison.kind, rooftop, keys, found })
    await comparison.onFound?.(db, rooftop, found)
    const lastKey = keys.at(-1) ?? null
    if (position?.kind === 'changed') {
      const { through } = position
      await saveChanged(db, comparison, rooftop, { lastKey, through, isWhole: false })
    }
    if (position?.kind === 'round') {
      const isEnd = position.isLast && keys.length === next.length
      const moved = { lastKey: isEnd ? null : lastKey, added: keys.length }
      await saveRound(db, comparison, rooftop, moved)
    }
  })
  return keys.length
}

/** How many records are compared tonight: the rest of the round in equal shares; in its last night, all that is left. */
export function nightShare(
  { records, compared, nights }: Pick<Round, 'records' | 'compared' | 'nights'>,
  withinNights: number,
): number {
  const nightsLeft = withinNights - nights
  if (nightsLeft <= 1) return Infinity
  return Math.max(1, Math.ceil((records - compared) / nightsLeft))
}

/** Streams of rooftops, those first that were compared the longest time ago. */
async function leastRecent(
  db: Db,
  comparisons: readonly Comparison[],
  rooftops: readonly RooftopRow[],
): Promise<(readonly [Comparison, RooftopRow])[]> {
  const { rows } = await sql<{ scope: string }>`
    select rooftop_id || ' ' || stream || ' ' || kind as scope from ops.value_check order by compared_at nulls first`.execute(
    db,
  )
  const ranks = new Map(rows.map(({ scope }, index) => [scope, index]))
  const rank = ([{ stream, kind }, { id }]: readonly [Comparison, RooftopRow]) =>
    ranks.get(`${id} ${stream} ${kind}`) ?? -1
  const known = rooftops.filter(({ id }) => id !== 0)
  const ofGroups = await firstOfGroups(db, known)
  return comparisons
    .flatMap((comparison) =>
      (comparison.isOfGroups ? ofGroups : known).map((rooftop) => [comparison, rooftop] as const),
    )
    .sort((a, b) => rank(a) - rank(b))
}

/** A rooftop for each dealer group of the rooftops, with the id of the first one of the group. */
export async function firstOfGroups(
  db: Db,
  rooftops: readonly RooftopRow[],
): Promise<RooftopRow[]> {
  const { rows } = await sql<{ groupId: number; id: number }>`
    select group_id as "groupId", min(rooftop_id) as id from core.rooftop group by 1`.execute(db)
  const byGroup = new Map(rooftops.map((rooftop) => [rooftop.groupId, rooftop]))
  return rows.flatMap(({ groupId, id }) => {
    const rooftop = byGroup.get(groupId)
    return rooftop === undefined ? [] : [{ ...rooftop, id }]
  })
}

/** The keys of what differed before. */
async function differingKeys(
  db: Db,
  { stream, kind }: Comparison,
  { id }: RooftopRow,
): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select distinct key from ops.value_difference cross join unnest(compare_keys) as key
    where rooftop_id = ${id} and stream = ${stream} and kind = any(${foundKinds[kind]}::text[]) order by key limit ${againAtMost}`.execute(
    db,
  )
  return rows.map(({ key }) => key)
}

/** Compares again all that differed before, and forgets what is equal now. */
export async function compareDifferences(
  warehouse: Comparing,
  comparisons: readonly Comparison[],
  rooftops: readonly RooftopRow[],
): Promise<void> {
  for (const comparison of comparisons)
    for (const rooftop of rooftops) {
      const keys = await differingKeys(warehouse.db, comparison, rooftop)
      for (let at = 0; at < keys.length; )
        at += await compareSlice(warehouse, comparison, rooftop, keys.slice(at))
    }
}

/** Where the round of a stream of a rooftop is; begins one where none is under way. */
async function readRound(db: Db, comparison: Comparison, rooftop: RooftopRow): Promise<Round> {
  const { stream, kind } = comparison
  const { id } = rooftop
  const read = sql<Round>`
    select round_started_at as "startedAt", round_records as records, compared, last_key as "lastKey", listed_through as "listedThrough",
      changed_key as "changedKey", changed_through as "changedThrough", round(extract(epoch from now() - round_started_at) / 86400)::int as nights
    from ops.value_check where rooftop_id = ${id} and stream = ${stream} and kind = ${kind}`
  const [known] = (await read.execute(db)).rows
  if (known !== undefined && (known.lastKey !== '' || known.changedKey !== '')) return known
  await sql`
    insert into ops.value_check as old (rooftop_id, stream, kind, round_started_at, round_records)
    select ${id}::int, ${stream}::text, ${kind}::text, now(), (${comparison.keys.count(rooftop)})
    on conflict (rooftop_id, stream, kind) do update set round_started_at = excluded.round_started_at,
      round_records = excluded.round_records, compared = 0`.execute(db)
  return (await read.execute(db)).rows[0]!
}

/** Moves the position of a round; null: it is at its end, and the next one begins with the next night. */
async function saveRound(
  db: Db,
  { stream, kind }: Comparison,
  { id }: RooftopRow,
  { lastKey, added }: { readonly lastKey: string | null; readonly added: number },
): Promise<void> {
  await sql`
    update ops.value_check set compared = compared + ${added}, compared_at = clock_timestamp(), last_key = ${lastKey ?? ''},
      full_since = case when ${lastKey === null} then round_started_at else full_since end
    where rooftop_id = ${id} and stream = ${stream} and kind = ${kind}`.execute(db)
}

/** Moves the position in what has changed; `lastKey` null: all of it is compared, and with `isWhole` that was everything. */
async function saveChanged(
  db: Db,
  { stream, kind }: Comparison,
  { id }: RooftopRow,
  moved: {
    readonly lastKey: string | null
    readonly through: Date | null
    readonly isWhole: boolean
  },
): Promise<void> {
  const { lastKey, through, isWhole } = moved
  const isEnd = lastKey === null
  await sql`
    update ops.value_check set compared_at = clock_timestamp(), changed_key = ${lastKey ?? ''},
      changed_through = ${isEnd ? null : through}::timestamptz, listed_through = coalesce(${isEnd ? through : null}::timestamptz, listed_through),
      full_since = case when ${isEnd && isWhole} then round_started_at else full_since end
    where rooftop_id = ${id} and stream = ${stream} and kind = ${kind}`.execute(db)
}

/** What a comparison finds. */
const foundKinds = {
  ...{ values: ['values'], ids: ['ids', 'counts'], sums: ['sums'] },
  ...{ records: ['orphans', 'duplicates', 'due'], vehicles: ['vehicles'] },
} as const

/** What was compared of a stream of a rooftop, and what differs. */
interface FoundSlice extends Pick<Comparison, 'stream' | 'kind'> {
  readonly rooftop: RooftopRow
  readonly keys: readonly string[]
  readonly found: readonly Difference[]
}

/** Stores what differs among the keys of a slice, and forgets what differed before and is equal now. */
export async function saveFound(
  db: Db,
  { stream, kind, rooftop, keys, found }: FoundSlice,
): Promise<void> {
  const byRecord = new Map(found.map((one) => [`${one.kind} ${one.record}`, one]))
  const compared = new Set(keys)
  const rows = [...byRecord.values()].map(({ kind: found_kind, record, difference }) => ({
    found_kind,
    record,
    // A row of a vehicle may belong to another evaluation than the one whose payloads were derived.
    keys: compared.has(record) ? [record] : keys,
    difference: difference.slice(0, 400),
  }))
  await sql`
    with compared as (
      select unnest(${[...keys]}::text[]) as key
    ), found as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (found_kind text, record text, keys text[], difference text)
    ), equal as (
      delete from ops.value_difference
      where rooftop_id = ${rooftop.id} and stream = ${stream} and kind = any(${foundKinds[kind]}::text[])
        -- Not by &&, which compares each row with each key.
        and exists (select from unnest(compare_keys) as key where key in (select compared.key from compared))
        and (kind, record_key) not in (select found_kind, record from found)
    )
    insert into ops.value_difference as old (rooftop_id, stream, kind, record_key, compare_keys, difference)
    select ${rooftop.id}::int, ${stream}::text, found_kind, record, keys, difference from found
    on conflict (rooftop_id, stream, kind, record_key) do update set compare_keys = excluded.compare_keys, difference = excluded.difference
    where (old.compare_keys, old.difference) is distinct from (excluded.compare_keys, excluded.difference)`.execute(
    db,
  )
}

/** Records that a command has compared all of some streams and rooftops since an instant. */
export async function saveFullRound(
  db: Db,
  of: { readonly kind: Comparison['kind']; readonly streams: readonly string[] },
  rooftops: readonly RooftopRow[],
  since: Date,
): Promise<void> {
  const ids = rooftops.flatMap(({ id }) => (id === 0 ? [] : [id]))
  await sql`
    insert into ops.value_check as old (rooftop_id, stream, kind, round_started_at, round_records, compared_at, full_since)
    select id, name, ${of.kind}, ${since}::timestamptz, 0, clock_timestamp(), ${since}::timestamptz
    from unnest(${ids}::int[]) as id cross join unnest(${[...of.streams]}::text[]) as name
    on conflict (rooftop_id, stream, kind) do update set round_started_at = excluded.round_started_at, last_key = '', compared = 0,
      changed_key = '', compared_at = excluded.compared_at, full_since = excluded.full_since`.execute(
    db,
  )
}
