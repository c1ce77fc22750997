import { type Kysely, sql } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { DerivedTable } from '../pipeline/payload-rows.ts'
import type { LoadOutcome, Row } from '../values/record.ts'

/** A table of prices that are never overwritten: one row of each key and price source is current. */
export interface ObservationTable {
  readonly table: 'core.price_observation' | 'core.stock_price_observation'
  /** What a price belongs to. */
  readonly key: 'eval_id' | 'stock_no'
  readonly keyType: 'bigint' | 'text'
  readonly source: string
}

/** An answer about one key; a call has one answer for each key at most. */
interface Observation {
  readonly key: number | string
  /** The source's time of the answer. */
  readonly at: Date
  /** Hash of the values: a different one makes a new observation. */
  readonly valueHash: Buffer
  /** The columns that only this table has. */
  readonly columns: Readonly<Record<string, unknown>>
}

/** What an answer did, and the time of the observation that it made or confirmed. */
export interface Observed {
  readonly outcome: LoadOutcome
  readonly observedAt: Date
}

interface CurrentPrice {
  readonly observedAt: Date
  readonly confirmedAt: Date
  readonly valueHash: Buffer
}

type Seen<A> = A & Observed

/** Rows per insert: Postgres takes 65,535 parameters. */
const rowsAtOnce = 1000

/**
 * Appends new values and confirms unchanged ones: exactly one observation of a key stays current.
 * `inserted`: the first of its key; `updated`: it replaces another one.
 */
export async function observeAll<A extends Observation>(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  answers: readonly A[],
  runId: number,
): Promise<readonly Seen<A>[]> {
  if (answers.length === 0) return []
  const current = await currentOf(db, rooftop, on, answers)
  const seen = answers.map((answer) => ({
    ...answer,
    ...compare(answer, current.get(String(answer.key))),
  }))
  const of = (...outcomes: LoadOutcome[]) =>
    seen.filter(({ outcome }) => outcomes.includes(outcome))
  await supersede(db, rooftop, on, of('updated'))
  await append(db, rooftop, on, of('inserted', 'updated'), runId)
  await confirm(db, rooftop, on, of('unchanged'))
  return seen
}

/** Pure. Compares an answer with the current observation of its key. */
function compare({ at, valueHash }: Observation, current: CurrentPrice | undefined): Observed {
  if (current === undefined) return { outcome: 'inserted', observedAt: at }
  if (current.valueHash.equals(valueHash))
    return { outcome: 'unchanged', observedAt: current.observedAt }
  // Always later than the one before it, also when the source's clock was set back or shows the same second.
  const observedAt = new Date(Math.max(at.getTime(), current.confirmedAt.getTime() + 1))
  return { outcome: 'updated', observedAt }
}

function currentRow(rooftop: RooftopRow, { source }: ObservationTable) {
  return sql`price.rooftop_id = ${rooftop.id} and price.price_source = ${source} and price.is_current`
}

function keysOf({ keyType }: ObservationTable, answers: readonly Observation[]) {
  return sql`${answers.map(({ key }) => key)}::${sql.raw(keyType)}[]`
}

async function currentOf(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  answers: readonly Observation[],
): Promise<ReadonlyMap<string, CurrentPrice>> {
  const { rows } = await sql<CurrentPrice & { key: string }>`
    select price.${sql.ref(on.key)}::text as key, observed_at as "observedAt", last_confirmed_at as "confirmedAt", value_hash as "valueHash"
    from ${sql.table(on.table)} as price
    where ${currentRow(rooftop, on)} and price.${sql.ref(on.key)} = any(${keysOf(on, answers)})`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.key, row]))
}

async function supersede(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  changed: readonly Observation[],
): Promise<void> {
  if (changed.length === 0) return
  await sql`
    update ${sql.table(on.table)} as price set is_current = false
    where ${currentRow(rooftop, on)} and price.${sql.ref(on.key)} = any(${keysOf(on, changed)})`.execute(
    db,
  )
}

async function append(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  fresh: readonly Seen<Observation>[],
  runId: number,
): Promise<void> {
  const rows = fresh.map(({ key, observedAt, valueHash, columns }) => ({
    rooftop_id: rooftop.id,
    [on.key]: key,
    price_source: on.source,
    observed_at: observedAt,
    last_confirmed_at: observedAt,
    is_current: true,
    ...columns,
    value_hash: valueHash,
    run_id: runId,
  }))
  for (let from = 0; from < rows.length; from += rowsAtOnce)
    await db
      .insertInto(on.table)
      .values(rows.slice(from, from + rowsAtOnce) as never)
      .execute()
}

async function confirm(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  unchanged: readonly Observation[],
): Promise<void> {
  if (unchanged.length === 0) return
  await sql`
    update ${sql.table(on.table)} as price set last_confirmed_at = greatest(price.last_confirmed_at, answer.at)
    from unnest(${keysOf(on, unchanged)}, ${unchanged.map(({ at }) => at)}::timestamptz[]) as answer (key, at)
    where ${currentRow(rooftop, on)} and price.${sql.ref(on.key)} = answer.key`.execute(db)
}

/** An answer from a stored payload. */
interface StoredAnswer extends Observation {
  readonly runId: number
  /** Columns that the first answer of an observation decides. */
  readonly first: Readonly<Record<string, unknown>>
}

/** An observation, derived from the answers with the same values that follow each other. */
interface DerivedObservation<A extends StoredAnswer> {
  readonly row: Row
  /** Whether the first of these answers made it; else an earlier one did, whose payload was deleted. */
  readonly isWhole: boolean
  /** None: it is from before the oldest answer, and only its end follows from the answers. */
  readonly answers: readonly A[]
}

/**
 * Derives observations from the stored answers of some keys, oldest first, and finds the stored row of each by its run.
 * The payloads of older observations were deleted (`retention.rawDays`).
 */
export async function deriveObservations<A extends StoredAnswer>(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  on: ObservationTable,
  answers: readonly A[],
): Promise<{
  readonly table: DerivedTable
  readonly observations: readonly DerivedObservation<A>[]
}> {
  const byKey = Map.groupBy(answers, ({ key }) => key)
  const { rows } = await sql<Row>`
    select * from ${sql.table(on.table)} as price
    where rooftop_id = ${rooftop.id} and price_source = ${on.source} and price.${sql.ref(on.key)} = any(${keysOf(
      on,
      [...byKey.values()].map(([first]) => first!),
    )})
    order by observed_at`.execute(db)
  const rowsByKey = Map.groupBy(rows, (row) => row[on.key])
  const stored: Row[] = []
  const observations: DerivedObservation<A>[] = []
  for (const [key, ofKey] of byKey) {
    const own = rowsByKey.get(key) ?? []
    const runs = runsOfEqualValues(ofKey)
    const matched = new Set<Row>()
    for (const [index, equal] of runs.entries()) {
      const [first] = equal as [A]
      const made = own.find((row) => row['run_id'] === first.runId && !matched.has(row))
      const before = made ?? (index === 0 ? continuedBy(first, own) : undefined)
      if (before) matched.add(before)
      const isWhole = before === undefined || before === made
      const row = {
        ...(before ?? newRow(rooftop, on, first, equal.at(-1)!.at)),
        ...first.columns,
        ...(isWhole ? first.first : {}),
        value_hash: first.valueHash,
        is_current: index === runs.length - 1,
      }
      observations.push({ row, isWhole, answers: equal })
    }
    const oldest = ofKey[0]!.runId
    const older = own.filter((row) => !matched.has(row) && (row['run_id'] as number) < oldest)
    for (const row of older)
      observations.push({ row: { ...row, is_current: false }, isWhole: false, answers: [] })
    stored.push(...own)
  }
  const derived = observations.map(({ row }) => row)
  const recordOf = (row: Row) => String(row[on.key])
  return { table: { table: on.table, stored, derived, recordOf }, observations }
}

/** How far the time of an answer and that of its payload may differ: the source's clock has seconds. */
const toleranceMs = 5000

/** The observation that the oldest answer confirmed; undefined: it confirmed none. */
function continuedBy({ runId, at, valueHash }: StoredAnswer, own: readonly Row[]): Row | undefined {
  const last = own.findLast((row) => (row['run_id'] as number) < runId)
  const isConfirmed = Number(last?.['last_confirmed_at']) >= at.getTime() - toleranceMs
  return last && (isConfirmed || valueHash.equals(last['value_hash'] as Buffer)) ? last : undefined
}

/** Answers of one key, grouped where the values stay the same. */
function runsOfEqualValues<A extends StoredAnswer>(answers: readonly A[]): A[][] {
  const runs: A[][] = []
  for (const answer of answers) {
    const last = runs.at(-1) ?? []
    if (last[0]?.valueHash.equals(answer.valueHash)) last.push(answer)
    else runs.push([answer])
  }
  return runs
}

function newRow(
  rooftop: RooftopRow,
  on: ObservationTable,
  { key, at, runId }: StoredAnswer,
  confirmedAt: Date,
): Row {
  return {
    rooftop_id: rooftop.id,
    [on.key]: key,
    price_source: on.source,
    observed_at: at,
    last_confirmed_at: confirmedAt,
    run_id: runId,
  }
}
