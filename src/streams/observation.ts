import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type DerivedTable, toleranceMs } from '../sync/records/payload-rows.ts'
import type { LoadOutcome, Row } from '../values/record.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Tables } from '../warehouse/db/tables.ts'

/** A table of prices that are never overwritten: one row of each key and price source is current. */
export interface ObservationTable {
  readonly table: 'core.price_observation' | 'core.stock_price_observation'
  /** What a price belongs to. */
  readonly key: 'eval_id' | 'stock_no'
  readonly keyType: 'bigint' | 'text'
  readonly source: string
  /** The columns that an answer with the same values may change. */
  readonly confirmed: readonly string[]
}

/** An answer about one key; a call has one answer for each key at most. */
interface Observation {
  readonly key: number | string
  /** The source's time of the answer. */
  readonly at: Date
  readonly runId: number
  /** Hash of the values: a different one makes a new observation. */
  readonly valueHash: Buffer
  /** The columns that only this table has. `confirmed`: the observation with the same values, which the answer confirms. */
  columns(confirmed: Row | null): Row
}

/** What an answer did: `inserted`: its row is the first of the key; `updated`: it replaces `before`; `unchanged`: it confirms it. */
interface Merged {
  readonly outcome: LoadOutcome
  readonly before: Row | null
  readonly row: Row & { readonly observed_at: Date; readonly last_confirmed_at: Date }
}

/** Rows per insert: Postgres takes 65,535 parameters. */
const rowsAtOnce = 1000

/** Merges an answer into the current observation of its key. Pure; load, replay and verification go by it. */
function mergeObservation(
  current: Row | null,
  answer: Observation,
  rooftop: RooftopRow,
  on: ObservationTable,
): Merged {
  const { key, at, runId, valueHash } = answer
  const confirmedAt = Number(current?.['last_confirmed_at'] ?? -Infinity)
  if (current !== null && valueHash.equals(current['value_hash'] as Buffer)) {
    const last_confirmed_at = new Date(Math.max(at.getTime(), confirmedAt))
    const row = { ...(current as Merged['row']), ...answer.columns(current), last_confirmed_at }
    return { outcome: 'unchanged', before: current, row }
  }
  // Always later than the one before it, also when the source's clock was set back or shows the same second.
  const observedAt = new Date(Math.max(at.getTime(), confirmedAt + 1))
  const row = {
    rooftop_id: rooftop.id,
    [on.key]: key,
    price_source: on.source,
    observed_at: observedAt,
    last_confirmed_at: observedAt,
    is_current: true,
    ...answer.columns(null),
    value_hash: valueHash,
    run_id: runId,
  }
  return { outcome: current === null ? 'inserted' : 'updated', before: current, row }
}

/** Appends new values and confirms unchanged ones: exactly one observation of a key stays current. Only one slice of a stream
 *  and rooftop runs at a time, so what is read here stays current until it is written. */
export async function observeAll<A extends Observation>(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  answers: readonly A[],
): Promise<readonly (A & Merged)[]> {
  if (answers.length === 0) return []
  const keys = answers.map(({ key }) => key)
  const rows = await readObservations(db, rooftop, on, keys, sql`and is_current`)
  const current = new Map(rows.map((row) => [row[on.key], row]))
  const merged = answers.map((answer) => ({
    ...answer,
    ...mergeObservation(current.get(answer.key) ?? null, answer, rooftop, on),
  }))
  const isConfirmed = ({ outcome }: Merged) => outcome === 'unchanged'
  const fresh = merged.filter((answer) => !isConfirmed(answer)).map(({ row }) => row)
  const ended = merged.filter(({ outcome }) => outcome === 'updated').map(({ key }) => key)
  if (ended.length > 0)
    await sql`
      update ${sql.table(on.table)} as price set is_current = false
      where ${ofKeys(rooftop, on, ended)} and is_current`.execute(db)
  for (let from = 0; from < fresh.length; from += rowsAtOnce)
    await db
      .insertInto(on.table)
      .values(fresh.slice(from, from + rowsAtOnce) as never)
      .execute()
  await confirm(db, rooftop, on, merged.filter(isConfirmed))
  return merged
}

function ofKeys(rooftop: RooftopRow, on: ObservationTable, keys: readonly (number | string)[]) {
  return sql`price.rooftop_id = ${rooftop.id} and price.price_source = ${on.source}
    and price.${sql.ref(on.key)} = any(${[...keys]}::${sql.raw(on.keyType)}[])`
}

/** The stored observations of some keys, oldest first. */
async function readObservations(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  keys: readonly (number | string)[],
  only: RawBuilder<unknown>,
): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select * from ${sql.table(on.table)} as price where ${ofKeys(rooftop, on, keys)} ${only}
    order by observed_at`.execute(db)
  return rows
}

async function confirm(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  confirmed: readonly (Observation & Merged)[],
): Promise<void> {
  if (confirmed.length === 0) return
  const keys = confirmed.map(({ key }) => key)
  const names = [on.key, ...on.confirmed]
  const rows = confirmed.map(({ row }) =>
    Object.fromEntries(names.map((name) => [name, row[name]])),
  )
  const sets = on.confirmed.map((name) => sql`${sql.ref(name)} = fresh.${sql.ref(name)}`)
  await sql`
    update ${sql.table(on.table)} as price set ${sql.join(sets)}
    from jsonb_populate_recordset(null::${sql.table(on.table)}, ${JSON.stringify(rows)}::jsonb) as fresh
    where ${ofKeys(rooftop, on, keys)} and price.is_current and price.${sql.ref(on.key)} = fresh.${sql.ref(on.key)}`.execute(
    db,
  )
}

/** An observation, and the answers with its values, which follow each other. */
interface DerivedObservation<A extends Observation> {
  readonly row: Row
  /** Whether the first of these answers made it; else an earlier one did, whose payload was deleted. */
  readonly isWhole: boolean
  /** None: it is from before the oldest answer, and only its end follows from the answers. */
  readonly answers: readonly A[]
}

/**
 * Merges the stored answers of some keys, oldest first, as the load did. The payloads of older observations were deleted
 * (`retention.rawDays`), and an answer that only confirms stores none: what the answers do not say is taken from the stored rows.
 */
export async function deriveObservations<A extends Observation>(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  answers: readonly A[],
): Promise<{
  readonly table: DerivedTable
  readonly observations: readonly DerivedObservation<A>[]
}> {
  const byKey = Map.groupBy(answers, ({ key }) => key)
  const stored = await readObservations(db, rooftop, on, [...byKey.keys()], sql``)
  const rowsByKey = Map.groupBy(stored, (row) => row[on.key])
  const observations = [...byKey].flatMap(([key, ofKey]) =>
    mergeStored(rowsByKey.get(key) ?? [], ofKey, rooftop, on),
  )
  const derived = observations.map(({ row }) => row)
  const recordOf = (row: Row) => String(row[on.key])
  return { table: { table: on.table, stored, derived, recordOf }, observations }
}

/** Merges the answers of one key. The stored row that an answer's run made says when it came, and until when it was confirmed. Pure. */
function mergeStored<A extends Observation>(
  stored: readonly Row[],
  answers: readonly A[],
  rooftop: RooftopRow,
  on: ObservationTable,
): DerivedObservation<A>[] {
  const { runId, valueHash } = answers[0]!
  const before = confirmedBy(answers[0]!, stored)
  const older = stored.filter((row) => row !== before && (row['run_id'] as number) < runId)
  const left = new Set(stored)
  const merged: { row: Row; known: Row | undefined; isWhole: boolean; answers: A[] }[] = []
  // With the hash of the answer, so that the answer confirms it whatever is stored.
  if (before !== undefined) {
    const row = { ...before, value_hash: valueHash }
    merged.push({ row, known: before, isWhole: false, answers: [] })
  }
  for (const answer of answers) {
    const last = merged.at(-1)
    const { outcome, row } = mergeObservation(last?.row ?? null, answer, rooftop, on)
    if (outcome === 'unchanged') {
      last!.row = row
      last!.answers.push(answer)
    } else {
      const known = stored.find((one) => one['run_id'] === answer.runId && left.delete(one))
      merged.push({ row: withTimes(row, known), known, isWhole: true, answers: [answer] })
    }
  }
  return [
    ...older.map((row) => ({ row: { ...row, is_current: false }, isWhole: false, answers: [] })),
    ...merged.map(({ row, known, ...rest }, index) => ({
      row: { ...withTimes(row, known), is_current: index === merged.length - 1 },
      ...rest,
    })),
  ]
}

function withTimes(row: Row, known: Row = row): Row {
  const { observed_at, last_confirmed_at } = known
  return { ...row, observed_at, last_confirmed_at }
}

/** The observation of an earlier run that the oldest answer confirmed; undefined: it confirmed none. */
function confirmedBy(
  { runId, at, valueHash }: Observation,
  stored: readonly Row[],
): Row | undefined {
  if (stored.some((row) => row['run_id'] === runId)) return undefined
  const last = stored.findLast((row) => (row['run_id'] as number) < runId)
  const isConfirmed = Number(last?.['last_confirmed_at']) >= at.getTime() - toleranceMs
  return last && (isConfirmed || valueHash.equals(last['value_hash'] as Buffer)) ? last : undefined
}
