import { type Kysely, type RawBuilder, sql } from 'kysely'
import { RecordIssues, type Rejected, type Row } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { WireSettings } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

/** A stored payload. */
interface StoredPayload {
  readonly endpoint: string
  readonly naturalKey: string
  readonly fetchedAt: Date
  /** The source's clock when it was read. */
  readonly readAt: Date
  readonly runId: number
  readonly text: string
}

/** The rows of a table that payloads make, beside those that are stored. What no payload decides is the same in both. */
export interface DerivedTable {
  readonly table: string
  readonly stored: readonly Row[]
  readonly derived: readonly Row[]
  /** The record that a row belongs to. */
  recordOf(row: Row): string
}

/** What the payloads of some records make. */
export interface Derivation {
  readonly tables: readonly DerivedTable[]
  /** Payloads that no longer fit; their rows are left out. */
  readonly unfit: readonly Rejected[]
}

/** What a derivation goes by. */
export interface DeriveOptions {
  readonly wire: WireSettings
  /** `add`: inserts what the records refer to (salespeople), where it is missing. `read`: writes nothing. */
  readonly mode: 'add' | 'read'
}

/** How the rows of a stream follow from its stored payloads: `replay` writes them, `verify --rows` compares them. */
export interface PayloadRows {
  /** Whether its records are evaluations that the sums of the reports count. */
  readonly isSummed?: true
  /** Selects `rooftop_id` and `key` of each record that has payloads, the key as text, each once. */
  keysOf(rooftopIds: readonly number[]): RawBuilder<unknown>
  derive(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    keys: readonly string[],
    options: DeriveOptions,
  ): Promise<Derivation>
}

/** The natural keys of payloads. With one rooftop and one endpoint they are read in the order of the primary key. */
export function payloadKeys(
  rooftopIds: readonly number[],
  endpoints: readonly string[],
): RawBuilder<unknown> {
  return sql`select distinct rooftop_id, natural_key as key from raw.payload
    where rooftop_id in (${sql.join(rooftopIds)}) and endpoint in (${sql.join(endpoints)})`
}

/** How far the time of an answer and `readAt` of its payload may differ: the source's clock has seconds. */
export const toleranceMs = 5000

/** All stored payloads of the records by key, oldest first. */
export async function readPayloads(
  db: Kysely<Tables>,
  { id }: Pick<RooftopRow, 'id'>,
  endpoints: readonly string[],
  keys: readonly string[],
): Promise<StoredPayload[]> {
  const { rows } = await sql<StoredPayload>`
    select endpoint, natural_key as "naturalKey", fetched_at as "fetchedAt", run_id as "runId", body::text as text,
      fetched_at + coalesce(source_started_at - date_trunc('milliseconds', started_at), '0') as "readAt"
    from raw.payload left join ops.run using (run_id)
    where rooftop_id = ${id} and endpoint = any(${[...endpoints]}::text[]) and natural_key = any(${[...keys]}::text[])
    order by natural_key, fetched_at`.execute(db)
  return rows
}

/** Reads what a stored payload says. null: it no longer fits, and is added to `unfit`. */
export function readFitting<T>(
  naturalKey: string,
  text: string,
  unfit: Rejected[],
  read: (body: unknown) => T,
): T | null {
  try {
    return read(JSON.parse(text))
  } catch (error) {
    if (!(error instanceof RecordIssues)) throw error
    unfit.push({ naturalKey, issues: error.issues, payload: text })
    return null
  }
}

/** Stored rows of a rooftop by the values of one column, all columns. */
export async function rowsByColumn(
  db: Kysely<Tables>,
  table: string,
  rooftopId: number,
  column: string,
  values: readonly (string | number)[],
): Promise<Row[]> {
  const { rows } = await sql<Row>`select * from ${sql.table(table)}
    where rooftop_id = ${rooftopId} and ${sql.ref(column)} = any(${[...values]})`.execute(db)
  return rows
}
