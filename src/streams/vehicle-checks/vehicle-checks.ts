import type { Kysely } from 'kysely'
import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { defineEnrichment, type EnrichmentAnswer } from '../../sync/enrich/enrichment.ts'
import { planAsks, requestDue } from '../../sync/enrich/enrichment-slice.ts'
import type { PayloadRows } from '../../sync/records/payload-rows.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import type { Loaded, RecordWarning } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { evaluationRecords } from '../evaluations/evaluation-records.ts'
import {
  type CheckAnswer,
  type CheckRecord,
  checkContent,
  checkOperations,
  isList,
  readRecord,
} from './check-answers.ts'
import { checkKeys, deriveChecks } from './derive.ts'
import { daysUntilDue, dueChecks, pastAsks, savedCalls } from './due.ts'
import { type LoadedChecks, loadChecks } from './load-checks.ts'
import { countAsWatchCheck, makeDue, vehicleChecksName as name, relistReports } from './make-due.ts'

const checks = defineEnrichment<CheckRecord>({
  name,
  asks: Object.keys(checkOperations),
  alsoAnswers: { [pastAsks.ppsr]: watchPpsr.name },
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
  daysUntilDue: (ageDays, ask, settings) => daysUntilDue(ageDays, ask, settings.checks),
  load: loadAnswers,
  savedCalls: async (db, rooftop, runStart, settings) =>
    await savedCalls(db, rooftop, name, runStart, settings),
})

const payloadRows: PayloadRows = { keysOf: checkKeys, derive: deriveChecks }
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
  plan: async (scope) => await planAsks(checks, scope),
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
  await makeDue(db, pastAsks.ppsr, groupId, unlisted)
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
