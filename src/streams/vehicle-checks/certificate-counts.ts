import { type Kysely, sql } from 'kysely'
import { numberAt, textAt } from '../../api/contract/reading.ts'
import type { JsonPath } from '../../values/json-path.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

type Names = Pick<AppraisalWire, 'ppsrCertificate'>

/** Columns of `core.vehicle_check` that only the answer of a search holds: the past checks leave them out [A §2]. */
interface CertificateCounts {
  readonly security_interest_count: number
  readonly written_off_count: number
  readonly stolen_count: number
  readonly certificate_number: string
}

/** Pure: what the body of `/ppsrsearch` says. */
export function givenCounts(
  body: unknown,
  { ppsrCertificate: names }: Names,
): Partial<CertificateCounts> {
  const columns = {
    security_interest_count: countAt(body, names.securityInterests),
    written_off_count: countAt(body, names.writeOffs),
    stolen_count: countAt(body, names.stolen),
    certificate_number: textAt(body, names.certificateNumber)?.slice(0, 80) ?? null,
  }
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null))
}

function countAt(body: unknown, path: JsonPath): number | null {
  const count = numberAt(body, path)
  return count !== null && Number.isInteger(count) && count >= 0 && count < 2 ** 31 ? count : null
}

/** Writes the given counts to the search of the dealer group; the others stay. */
export async function writeCounts(
  db: Kysely<Tables>,
  groupId: number,
  ref: string,
  counts: Partial<CertificateCounts>,
): Promise<void> {
  if (Object.keys(counts).length === 0) return
  await db
    .updateTable('core.vehicle_check')
    .set(counts)
    .where('group_id', '=', groupId)
    .where('check_kind', '=', 'ppsr')
    .where('check_ref', '=', ref)
    .execute()
}

/** The counts of PPSR searches of a dealer group that were paid for from here, by ref, from the answers in `raw`. A search belongs to
 *  the newest evaluation of its vehicle, and may have been requested on another one, or before that one was in the warehouse. */
export async function readCounts(
  db: Kysely<Tables>,
  groupId: number,
  refs: readonly string[],
  wire: Names,
): Promise<ReadonlyMap<string, Partial<CertificateCounts>>> {
  if (refs.length === 0) return new Map()
  const { rows } = await sql<{ readonly ref: string; readonly body: unknown }>`
    select check_ref as ref, body
    from ops.billable_call as call join core.rooftop using (rooftop_id)
    join raw.payload_json as stored on stored.rooftop_id = call.rooftop_id and endpoint = operation
      and stored.natural_key = call.natural_key
    where group_id = ${groupId} and check_ref = any(${[...refs]}::text[]) and budget = 'ppsrSearch' and state = 'committed'
    order by stored.fetched_at desc`.execute(db)
  return new Map(
    [...Map.groupBy(rows, ({ ref }) => ref)].flatMap(([ref, answers]) => {
      // An answer without an id belongs to the search if it is the only one.
      const only =
        answers.length === 1 && refAt(answers[0]!.body, wire) === null ? answers[0] : null
      const answer = answers.find(({ body }) => refAt(body, wire) === ref) ?? only
      return answer ? [[ref, givenCounts(answer.body, wire)]] : []
    }),
  )
}

function refAt(body: unknown, { ppsrCertificate }: Names): string | null {
  return textAt(body, ppsrCertificate.id)?.trim().slice(0, 80) ?? null
}
