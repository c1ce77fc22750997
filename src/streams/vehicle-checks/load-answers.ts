import type { Kysely } from 'kysely'
import type { EnrichmentAnswer } from '../../sync/enrich/enrichment.ts'
import type { Loaded, RecordWarning } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { type CheckAnswer, type CheckRecord, isList } from './check-answers.ts'
import { pastAsks } from './due.ts'
import { type LoadedChecks, loadChecks } from './load-checks.ts'
import { countAsWatchCheck, makeDue, relistReports } from './make-due.ts'

/** Loads the answers, and makes due what they show to be out of date. */
export async function loadAnswers(
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
