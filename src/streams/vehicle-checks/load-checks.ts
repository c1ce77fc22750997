import { compareRows, writeDifferences } from '../../sync/records/derive-rows.ts'
import type { Loaded } from '../../values/record.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { holdErasureLock, holdLock } from '../../warehouse/db/locks.ts'
import type { Tx } from '../../warehouse/db/transaction.ts'
import { type CheckAnswer, checkKey, isList, latestPerCheck } from './check-answers.ts'
import { checkTables, readChecks, readNewChecks } from './check-rows.ts'
import { type CheckRow, mergeLists } from './merge.ts'
import {
  addUnknownStatuses,
  mergeStatuses,
  reportStatuses,
  statusWarnings,
} from './watch-statuses.ts'

/** What an answer changed in the warehouse. */
export interface LoadedChecks extends Loaded {
  /** The status of a watch that was known before has changed. */
  readonly statusChanged: boolean
  /** The past searches have to be listed again. */
  readonly needsListing: boolean
}

/**
 * Updates checks, their statuses and links from answers about one dealer group, inside the caller's transaction. A list is the whole
 * list of its vehicle, so a check that it no longer shows is marked as gone. What is unchanged is not written, except for the links,
 * which come freshly signed.
 */
export async function loadChecks(
  tx: Tx,
  answers: readonly CheckAnswer[],
  wire: AppraisalWire,
): Promise<LoadedChecks[]> {
  if (answers.length === 0) return []
  // Before any row is written that an erasure may wait for.
  await holdErasureLock(tx)
  const { db } = tx
  const { groupId } = answers[0]!
  // Other rooftops of the group and permalinks load checks too: they wait until these are written.
  await holdLock(db, 'checks', groupId)
  const lists = answers.filter(isList)
  const listed = latestPerCheck(lists)
  const vins = answers.map(({ vin }) => vin)
  const stored = await readChecks(db, groupId, vins, listed)
  const newChecks = await readNewChecks(db, groupId, listed, stored, wire)
  const merged = mergeLists(stored, newChecks, listed, lists)
  const inOrder = [...lists, ...answers.filter((answer) => !isList(answer))]
  const reports = reportStatuses(inOrder, merged)
  const reported = [...reports.values()].flatMap(({ statuses }) => statuses)
  const { checks, statuses } = mergeStatuses(merged, reported)
  const unknown = await addUnknownStatuses(db, statuses)
  const differences = await compareRows(db, checkTables(stored, { ...merged, checks, statuses }))
  await writeDifferences(tx, differences)

  const rows = differences.filter(({ table }) => table === 'core.vehicle_check')
  return answers.map((answer) => {
    const { needsListing, warnings } = reports.get(answer)!
    const ofAnswer = statuses.filter((one) => one.answer === answer)
    const changed = ofAnswer.filter(({ change }) => change !== null)
    const written = rows.filter(({ derived }) => {
      const { check_kind, check_ref } = derived as CheckRow
      return merged.lists.get(checkKey(check_kind, check_ref)) === answer
    })
    const isNew = written.some(({ kind }) => kind === 'missing')
    const isUpdated = changed.length > 0 || written.length > 0
    return {
      outcome: isNew ? 'inserted' : isUpdated ? 'updated' : 'unchanged',
      statusChanged: changed.some(({ before }) => !isList(answer) || before.watch_status !== null),
      needsListing,
      warnings: [
        ...ofAnswer.flatMap((one) => statusWarnings(one, unknown, merged.terminal)),
        ...warnings,
      ],
    }
  })
}
