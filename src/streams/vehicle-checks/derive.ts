import { type Kysely, sql } from 'kysely'
import {
  type Derivation,
  type DeriveOptions,
  payloadKeys,
  readFitting,
  readPayloads,
  toleranceMs,
} from '../../sync/records/payload-rows.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { Rejected } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { readCounts } from './certificate-counts.ts'
import {
  type CheckAnswer,
  checkKey,
  checkOperations,
  isList,
  keyedChecks,
  type ListAnswer,
  latestPerCheck,
  readRecord,
} from './check-answers.ts'
import { checkTables, readChecks, readNewChecks } from './check-rows.ts'
import { type CheckRow, mergeLists, type StoredChecks } from './merge.ts'
import {
  addUnknownStatuses,
  mergeStatuses,
  reportStatuses,
  type StatusChange,
} from './watch-statuses.ts'

export function checkKeys(rooftopIds: readonly number[]) {
  return payloadKeys(rooftopIds, Object.keys(checkOperations))
}

/**
 * The rows that are stored, with the stored answers merged into them once more: that must change nothing. An answer without a payload
 * is not missed: a payload is stored only when its content is new, and a permalink signs links without one. What such an answer
 * changed is in the stored rows, and is later than the payloads.
 */
export async function deriveChecks(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  keys: readonly string[],
  { wire: { appraisal: wire }, mode }: DeriveOptions,
): Promise<Derivation> {
  const { groupId } = rooftop
  const { answers, unfit } = await readAnswers(db, rooftop, keys, wire)
  const vins = answers.map(({ vin }) => vin)
  const newest = new Map(answers.map((answer) => [`${answer.kind} ${answer.vin}`, answer]))
  const lists = [...newest.values()].filter(isList)
  const stored = await readChecks(db, groupId, vins, latestPerCheck(lists))
  const ofVehicles = await withoutOthers(db, groupId, lists, stored)
  const listed = latestPerCheck(ofVehicles)
  const known = await provenRows(db, groupId, stored, new Set(vins), wire)
  const newChecks = await readNewChecks(db, groupId, listed, stored, wire)
  const merged = mergeLists({ ...stored, checks: known }, newChecks, listed, ofVehicles)
  const { checks, statuses } = mergeStatuses(merged, contradictions(answers, merged))
  if (mode === 'add') await addUnknownStatuses(db, statuses)
  const erased = await readErased(db, groupId, checks)
  const links = [...merged.links].flatMap(([key, link]) => {
    if (erased.has(link.eval_id)) return []
    // When a stored link was signed is not in the payload.
    const signed = stored.links.get(key)
    return [[key, signed ? { ...signed, url: link.url } : link] as const]
  })
  return { tables: checkTables(stored, { checks, links: new Map(links), statuses }), unfit }
}

/** The answers about the vehicles of these evaluations, oldest first, without those from before a correction of the VIN. Several
 *  evaluations of a vehicle may have some: it is compared with the newest of them. */
async function readAnswers(
  db: Kysely<Tables>,
  { id, groupId }: RooftopRow,
  keys: readonly string[],
  wire: AppraisalWire,
): Promise<{ readonly answers: readonly CheckAnswer[]; readonly unfit: readonly Rejected[] }> {
  const payloads = await readVehiclePayloads(db, id, groupId, keys)
  const answers: CheckAnswer[] = []
  const unfit: Rejected[] = []
  const giveWay = eventLoopYielder()
  for (const [vin, ofVehicle] of Map.groupBy(payloads, (payload) => payload.vin)) {
    await giveWay()
    const newest = ofVehicle.at(-1)!
    if (newest.rooftopId !== id || !keys.includes(newest.naturalKey)) continue
    const read = ofVehicle.map(({ endpoint, naturalKey, text, readAt: at, runId }) => {
      const key = `${naturalKey}/${endpoint}`
      const record = readFitting(key, text, unfit, (body) => readRecord(body, endpoint, wire))
      const latest = new Date(at.getTime() + toleranceMs)
      const about = { groupId, vin, at, latest, runId, isOfThisVehicle: true }
      return [endpoint, record && { ...record, ...about }] as const
    })
    // Where the newest answer does not fit, an older one proves nothing.
    if ([...new Map(read).values()].includes(null)) continue
    answers.push(...read.flatMap(([, answer]) => answer ?? []))
  }
  return { answers, unfit }
}

async function readVehiclePayloads(
  db: Kysely<Tables>,
  id: number,
  groupId: number,
  keys: readonly string[],
) {
  type Known = { rooftopId: number; key: string; vin: string; correctedAt: Date | null }
  const { rows } = await sql<Known>`
    select rooftop_id as "rooftopId", eval_id::text as key, vehicle_vin as vin, (
      select max(observed_at) from core.evaluation_version as edit
      where edit.rooftop_id = known.rooftop_id and edit.eval_id = known.eval_id and 'vin' = any(changed_fields)) as "correctedAt"
    from core.evaluation as known
    where group_id = ${groupId} and vehicle_vin in (
      select vehicle_vin from core.evaluation where rooftop_id = ${id} and eval_id = any(${keys.map(Number)}::bigint[]))`.execute(
    db,
  )
  const operations = Object.keys(checkOperations)
  const found = []
  for (const [rooftopId, ofRooftop] of Map.groupBy(rows, (row) => row.rooftopId)) {
    const byKey = new Map(ofRooftop.map((row) => [row.key, row]))
    for (const payload of await readPayloads(db, { id: rooftopId }, operations, [
      ...byKey.keys(),
    ])) {
      const { vin, correctedAt } = byKey.get(payload.naturalKey)!
      if (correctedAt === null || correctedAt <= payload.fetchedAt)
        found.push({ ...payload, rooftopId, vin })
    }
  }
  return found.sort((a, b) => a.fetchedAt.getTime() - b.fetchedAt.getTime())
}

/** The lists without checks of other vehicles of the dealer group: the lists of its own vehicle decide about a check. */
async function withoutOthers(
  db: Kysely<Tables>,
  groupId: number,
  lists: readonly ListAnswer[],
  { checks }: StoredChecks,
): Promise<ListAnswer[]> {
  const vins = [...new Set([...checks.values()].map(({ vin }) => vin))]
  const { rows } = await sql<{ vin: string }>`
    select distinct vehicle_vin as vin from core.evaluation
    where group_id = ${groupId} and vehicle_vin = any(${vins}::text[])`.execute(db)
  const inGroup = new Set(rows.map(({ vin }) => vin))
  return lists.map((list) => {
    const checksOfVehicle = keyedChecks(list).filter(({ key }) => {
      const vin = checks.get(key)?.vin ?? list.vin
      return vin === list.vin || !inGroup.has(vin)
    })
    return { ...list, checks: checksOfVehicle.map(({ check }) => check) }
  })
}

/** The stored rows of the vehicles, with the status of their last change, and the counts of the answers that were paid for. */
async function provenRows(
  db: Kysely<Tables>,
  groupId: number,
  { checks }: StoredChecks,
  vins: ReadonlySet<string>,
  wire: AppraisalWire,
): Promise<Map<string, CheckRow>> {
  const { rows } = await sql<StatusChange>`
    select distinct on (check_kind, check_ref) change.*
    from core.vehicle_check join core.watch_status_change as change using (rooftop_id, eval_id, check_kind, check_ref)
    where group_id = ${groupId} and vin = any(${[...vins]}::text[])
    order by check_kind, check_ref, observed_at desc`.execute(db)
  const changes = new Map(rows.map((row) => [checkKey(row.check_kind, row.check_ref), row]))
  const searches = [...checks.values()].filter((row) => row.check_kind === 'ppsr')
  const refs = searches.map(({ check_ref }) => check_ref)
  const counts = await readCounts(db, groupId, refs, wire)
  return new Map(
    [...checks].map(([key, row]) => {
      if (!vins.has(row.vin)) return [key, row]
      const change = changes.get(key)
      const { certificate_number: _, ...given } = counts.get(row.check_ref) ?? {}
      return [
        key,
        {
          ...row,
          ...(row.check_kind === 'ppsr' ? given : {}),
          ...(change && { watch_status: change.to_status, watch_status_since: change.observed_at }),
        },
      ]
    }),
  )
}

/** The reported statuses of checks whose own status none of the newest answers has. */
function contradictions(answers: readonly CheckAnswer[], merged: StoredChecks) {
  const reports = [...reportStatuses(answers, merged).values()]
  const reported = reports.flatMap(({ statuses }) => statuses)
  const newest = new Map(
    reported.map(({ key, answer, status }) => [`${key} ${answer.kind}`, { key, status }]),
  )
  const confirmed = new Set(
    [...newest.values()]
      .filter(({ key, status }) => merged.checks.get(key)!.watch_status === status)
      .map(({ key }) => key),
  )
  return reported.filter(({ key }) => !confirmed.has(key))
}

/** The evaluations of the checks whose customer was erased, with the links of their checks. */
async function readErased(
  db: Kysely<Tables>,
  groupId: number,
  checks: ReadonlyMap<string, CheckRow>,
): Promise<ReadonlySet<number>> {
  const evalIds = [...checks.values()].map(({ eval_id }) => eval_id)
  const { rows } = await sql<{ id: number }>`
    select eval_id as id from pii.suppressed_evaluation
    where group_id = ${groupId} and scope = 'customer' and eval_id = any(${evalIds}::bigint[])`.execute(
    db,
  )
  return new Set(rows.map(({ id }) => id))
}
