import { type Kysely, sql } from 'kysely'
import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { defineEnrichment, type EnrichmentAnswer } from '../../sync/enrich/enrichment.ts'
import { planRequests, requestDue } from '../../sync/enrich/enrichment-slice.ts'
import {
  type Derivation,
  type DeriveOptions,
  type PayloadRows,
  payloadKeys,
  readFitting,
  readPayloads,
  toleranceMs,
} from '../../sync/records/payload-rows.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { Loaded, RecordWarning, Rejected } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { evaluationRecords } from '../evaluations/evaluation-records.ts'
import { readCounts } from './certificate-counts.ts'
import {
  type CheckAnswer,
  type CheckRecord,
  checkContent,
  checkKey,
  checkOperations,
  isList,
  keyedChecks,
  type ListAnswer,
  latestPerCheck,
  readRecord,
} from './check-answers.ts'
import { checkTables, readChecks, readNewChecks } from './check-rows.ts'
import { daysUntilDue, dueChecks, pastNames, savedCalls } from './due.ts'
import { type LoadedChecks, loadChecks } from './load-checks.ts'
import { countAsWatchCheck, makeDue, vehicleChecksName as name, relistReports } from './make-due.ts'
import { type CheckRow, mergeLists, type StoredChecks } from './merge.ts'
import {
  addUnknownStatuses,
  mergeStatuses,
  reportStatuses,
  type StatusChange,
} from './watch-statuses.ts'

const checks = defineEnrichment<CheckRecord>({
  name,
  asks: Object.keys(checkOperations),
  alsoAnswers: { [pastNames.ppsr]: watchPpsr.name },
  // Every answer is complete.
  polling: { everySeconds: 15, maxWaitSeconds: 0 },

  serves: ({ region }) => region === 'AU',
  // The schedule limits the calls: an evaluation without checks is not asked about without end.
  budget: () => 10_000_000,
  historyBudget: ({ checks: { backfillBudget } }) => backfillBudget,
  due: dueChecks,

  async read({ services }, rooftop, { evalId, ask }, _settings, options) {
    const call = { ...options, rooftop, naturalKey: String(evalId), fields: { evalid: evalId } }
    const { body, text, date } = await services.call(checkOperations[ask]!, call)
    return { body, text, at: date }
  },

  contentOf: checkContent,
  normalise: (body, { ask }, _rooftop, wire) => readRecord(body, ask, wire),
  isPending: () => false,
  daysUntilDue,
  load: loadAnswers,
  savedCalls,
})

const payloadRows: PayloadRows = {
  keysOf: (rooftopIds) => payloadKeys(rooftopIds, checks.asks),
  derive: deriveChecks,
}
const requestChecks = bindSlice(checks, requestDue)

/** Past PPSR searches and Car History reports with their links, and the statuses of the watches: AU alone [A §4]. */
export const vehicleChecks: Stream = {
  name,
  endpoints: checks.asks,
  enrichment: checks,
  // An answer may be about a vehicle of the group: which evaluation asks, and which one owns it, depends on all its rooftops.
  follows: [evaluationRecords.name],
  payloadRows,
  slices: {
    ...{ sync: requestChecks, backfill: requestChecks, retry: requestChecks, links: requestChecks },
  },
  plan: async (scope) => await planRequests(checks, scope),
}

/** Loads the answers, and makes due what they show to be out of date. */
async function loadAnswers(
  tx: Tx,
  { id, groupId }: RooftopRow,
  received: readonly EnrichmentAnswer<CheckRecord>[],
  runId: number,
  wire: AppraisalWire,
): Promise<Loaded[]> {
  const { db } = tx
  const evalIds = received.map(({ evalId }) => evalId)
  const vins = await readVins(db, id, evalIds)
  const answers = received.map(({ evalId, record, at }): CheckAnswer | null => {
    const vin = vins.get(evalId)
    return vin === undefined ? null : { ...record, groupId, vin, at, runId, isOfThisVehicle: true }
  })
  const known = answers.filter((answer) => answer !== null)
  const results = await loadChecks(tx, known, wire)
  const loaded = new Map(known.map((answer, index) => [answer, results[index]!]))
  const vinsWhere = (isMeant: (answer: CheckAnswer, result: LoadedChecks) => boolean) =>
    [...loaded].flatMap(([answer, result]) => (isMeant(answer, result) ? [answer.vin] : []))
  const searched = vinsWhere(({ kind }) => kind === 'ppsr')
  await countAsWatchCheck(db, groupId, searched, runId)
  const unlisted = vinsWhere((_, { needsListing }) => needsListing)
  await makeDue(db, pastNames.ppsr, groupId, unlisted)
  const changed = vinsWhere(({ kind }, one) => kind !== 'car_history' && one.statusChanged)
  await relistReports(db, groupId, changed)
  return answers.map((answer) => {
    if (answer === null) return { outcome: 'unchanged', warnings: [] }
    const { outcome, warnings } = loaded.get(answer)!
    return { outcome, warnings: [...warnings, ...itemWarnings(answer)] }
  })
}

/** Warnings about items of a list that cannot be read in full. */
function itemWarnings(answer: CheckAnswer): RecordWarning[] {
  if (!isList(answer)) return []
  const { checks, itemsWithoutId = 0 } = answer
  const unread = checks.filter((check) => check.hasUnreadableTime).length
  const found = [
    itemsWithoutId > 0 && {
      check: 'check-without-id',
      detail: `${itemsWithoutId} items have no id (wire.appraisal.pastCheck.id) and nothing to use instead: left out`,
    },
    unread > 0 && {
      check: 'check-time-unreadable',
      detail: `${unread} items have a value that is not a time (wire.appraisal.pastCheck.createdAt)`,
    },
  ]
  return found.filter((warning) => warning !== false)
}

async function readVins(
  db: Kysely<Tables>,
  rooftopId: number,
  evalIds: readonly number[],
): Promise<Map<number, string>> {
  if (evalIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('core.evaluation')
    .select(['eval_id', 'vin'])
    .where('rooftop_id', '=', rooftopId)
    .where('eval_id', 'in', [...evalIds])
    .execute()
  return new Map(
    rows.flatMap(({ eval_id, vin }) => (vin?.length === 17 ? [[eval_id, vin.toUpperCase()]] : [])),
  )
}

/**
 * The rows that are stored, with the stored answers merged into them once more: that must change nothing. An answer without a payload
 * is not missed: a payload is stored only when its content is new, and a permalink signs links without one. What such an answer
 * changed is in the stored rows, and is later than the payloads.
 */
async function deriveChecks(
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
  const found = []
  for (const [rooftopId, ofRooftop] of Map.groupBy(rows, (row) => row.rooftopId)) {
    const byKey = new Map(ofRooftop.map((row) => [row.key, row]))
    for (const payload of await readPayloads(db, { id: rooftopId }, checks.asks, [
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
