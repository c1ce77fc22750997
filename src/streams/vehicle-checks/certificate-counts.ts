import { type Kysely, sql } from 'kysely'
import { numberAt, textAt } from '../../api/contract/reading.ts'
import type { JsonPath } from '../../values/json-path.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'

type Names = Pick<AppraisalWire, 'ppsrCertificate'>

/** Columns of `core.vehicle_check` that only the answer of a search holds: the past checks leave them out [A §2]. */
interface CertificateCounts {
  readonly security_interest_count: number | null
  readonly written_off_count: number | null
  readonly stolen_count: number | null
  readonly certificate_number: string | null
}

/** Pure: what the body of `/ppsrsearch` says; null where it says nothing. */
export function readCounts(body: unknown, { ppsrCertificate: names }: Names): CertificateCounts {
  return {
    security_interest_count: countAt(body, names.securityInterests),
    written_off_count: countAt(body, names.writeOffs),
    stolen_count: countAt(body, names.stolen),
    certificate_number: textAt(body, names.certificateNumber)?.slice(0, 80) ?? null,
  }
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
  counts: CertificateCounts,
): Promise<void> {
  const given = Object.entries(counts).filter(([, value]) => value !== null)
  if (given.length === 0) return
  await db
    .updateTable('core.vehicle_check')
    .set(Object.fromEntries(given))
    .where('group_id', '=', groupId)
    .where('check_kind', '=', 'ppsr')
    .where('check_ref', '=', ref)
    .execute()
}

/** Fills in the counts of PPSR searches that have just become known, inside the caller's transaction. Those that were paid for
 *  from here get them from the answers in `raw`, even if the evaluation was not in the warehouse at the time. */
export async function fillCounts(
  db: Kysely<Tables>,
  checks: readonly { readonly rooftopId: number; readonly evalId: number; readonly ref: string }[],
  wire: Names,
): Promise<void> {
  if (checks.length === 0) return
  const stored = await storedAnswers(db, checks)
  const byCheck = Map.groupBy(stored, ({ groupId, ref }) => `${groupId} ${ref}`)
  for (const answers of byCheck.values()) {
    const { groupId, ref } = answers[0]!
    const withRef = answers.find(({ body }) => refAt(body, wire) === ref)
    // An answer without an id belongs to the search if it is the only one.
    const only = answers.length === 1 && refAt(answers[0]!.body, wire) === null ? answers[0] : null
    const answer = withRef ?? only
    if (answer) await writeCounts(db, groupId, ref, readCounts(answer.body, wire))
  }
}

function refAt(body: unknown, { ppsrCertificate }: Names): string | null {
  return textAt(body, ppsrCertificate.id)?.trim().slice(0, 80) ?? null
}

interface StoredAnswer {
  readonly groupId: number
  readonly ref: string
  readonly body: unknown
}

/** The check belongs to the newest evaluation of its vehicle; the search may have been asked for on another one. */
async function storedAnswers(
  db: Kysely<Tables>,
  checks: readonly { readonly rooftopId: number; readonly ref: string }[],
): Promise<StoredAnswer[]> {
  const [rooftops, refs] = [checks.map((one) => one.rooftopId), checks.map((one) => one.ref)]
  const { rows } = await sql<StoredAnswer>`
    select owner.group_id as "groupId", made.ref, stored.body
    from unnest(${rooftops}::int[], ${refs}::text[]) as made (rooftop_id, ref)
    join core.rooftop as owner on owner.rooftop_id = made.rooftop_id
    join ops.billable_call as call on call.check_ref = made.ref and call.budget = 'ppsrSearch'
      and call.state = 'committed'
    join core.rooftop as asker on asker.rooftop_id = call.rooftop_id and asker.group_id = owner.group_id
    join raw.payload_json as stored on stored.rooftop_id = call.rooftop_id and stored.endpoint = call.operation
      and stored.natural_key = call.natural_key
    order by stored.fetched_at desc`.execute(db)
  return rows
}
