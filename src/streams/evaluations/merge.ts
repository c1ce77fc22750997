import { isAhead } from '../../values/instant.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { isWithin } from '../../values/window.ts'
import type { Row, RowSet } from '../../values/record.ts'
import type { MergeResult, Origin } from '../../pipeline/windowed-records.ts'
import { changedFields, sameRows } from './compare.ts'
import type { EvaluationRecord } from './normalise.ts'

/**
 * Merges a record into the stored rows of an evaluation. Pure.
 * A record with an older UpdatedAt never replaces a newer one. With equal times the one read later wins; so it does when one of
 * the times is ahead of the source's clock, since such a time proves nothing.
 */
export function mergeEvaluation(
  stored: RowSet | null,
  record: EvaluationRecord,
  links: Row,
  rooftop: RooftopRow,
  origin: Origin,
): MergeResult {
  const before = stored?.['core.evaluation']?.[0]
  if (!stored || !before)
    return { outcome: 'inserted', rows: firstRows(record, links, rooftop, origin) }
  const storedAt = before['source_updated_at'] as Date
  const isStoredAhead = isFuture(storedAt, origin)
  const isOlder = record.isUpdateAhead
    ? origin.fetchedAt < (before['last_changed_at'] as Date)
    : record.updatedAt < storedAt
  if (isOlder && !isStoredAhead) {
    if (before['gone_at'] === null) return { outcome: 'stale' }
    // It is back at the source with an older state: the mark is removed, the newer content stays.
    return { outcome: 'updated', rows: touched(stored, before, storedAt, origin) }
  }
  const updatedAt = isStoredAhead || record.updatedAt > storedAt ? record.updatedAt : storedAt
  const same = record.hash.equals(before['content_hash'] as Buffer)
  if (same && updatedAt.getTime() === storedAt.getTime() && before['gone_at'] === null)
    return { outcome: 'unchanged' }
  if (same) return { outcome: 'updated', rows: touched(stored, before, updatedAt, origin) }
  const next = { ...record, updatedAt }
  return { outcome: 'updated', rows: changed(stored, before, next, links, rooftop, origin) }
}

function isFuture(at: Date, { readAt }: Origin): boolean {
  return readAt !== undefined && isAhead(at, readAt)
}

function key(rooftop: RooftopRow, record: EvaluationRecord): Row {
  return { rooftop_id: rooftop.id, eval_id: record.evalId }
}

function firstRows(
  record: EvaluationRecord,
  links: Row,
  rooftop: RooftopRow,
  origin: Origin,
): RowSet {
  const stamps = {
    first_loaded_at: origin.fetchedAt,
    entry_at: entryAt(record, origin),
    version_no: 1,
  }
  const version = versionRow(record, links, rooftop, origin, 1, [], record.updatedAt)
  return {
    'core.evaluation': [evaluationRow(record, links, rooftop, origin, stamps)],
    'core.evaluation_version': [version],
    'core.reconditioning_item': reconRows(record, rooftop, 1),
    'core.photo': photoRows([], record, rooftop, origin),
    ...plainChildren(record, rooftop, origin),
  }
}

/**
 * The time that places the record in a window: EntryDate, which the list filters on. When EntryDate and CreatedAt disagree,
 * CreatedAt is preferred [A §2]. When neither lies in the window that listed the record, it is the start of that window.
 */
function entryAt(record: EvaluationRecord, { listedIn }: Origin): Date {
  const created = record.content.evaluation['created_at'] as Date
  const agree = Math.abs(created.getTime() - record.entryAt.getTime()) < 1000
  const candidates = agree ? [record.entryAt] : [created, record.entryAt]
  if (!listedIn) return candidates[0]!
  return candidates.find((at) => isWithin(listedIn, at)) ?? fromUnixSeconds(listedIn.from)
}

/** The rows for the same content with a new UpdatedAt, or back in the list: no version is made. */
function touched(stored: RowSet, before: Row, updatedAt: Date, origin: Origin): RowSet {
  const oldVersions = stored['core.evaluation_version'] ?? []
  const versions = withRealStarts(oldVersions, origin)
  return {
    'core.evaluation': [{ ...before, source_updated_at: updatedAt, gone_at: null }],
    ...(versions === oldVersions ? {} : { 'core.evaluation_version': versions }),
  }
}

/** Corrects versions that were stored with an UpdatedAt ahead of the source's clock: they begin when they were read. */
function withRealStarts(versions: readonly Row[], origin: Origin): readonly Row[] {
  const beganAt = (version: Row) => version['valid_from'] as Date
  if (!versions.some((version) => isFuture(beganAt(version), origin))) return versions
  const offset = origin.readAt!.getTime() - origin.fetchedAt.getTime()
  const sorted = versions
    .toSorted((a, b) => (a['version_no'] as number) - (b['version_no'] as number))
    .map((version) => {
      if (!isFuture(beganAt(version), origin)) return version
      const readAt = (version['observed_at'] as Date).getTime() + offset
      return { ...version, valid_from: new Date(Math.min(readAt, origin.readAt!.getTime())) }
    })
  return sorted.map((version, index) => ({
    ...version,
    valid_to: sorted[index + 1]?.['valid_from'] ?? null,
  }))
}

function changed(
  stored: RowSet,
  before: Row,
  record: EvaluationRecord,
  links: Row,
  rooftop: RooftopRow,
  origin: Origin,
): RowSet {
  const versionNo = (before['version_no'] as number) + 1
  const { first_loaded_at, entry_at } = before
  const stamps = { first_loaded_at, entry_at, version_no: versionNo }
  const row = evaluationRow(record, links, rooftop, origin, stamps)
  const versions = withRealStarts(stored['core.evaluation_version'] ?? [], origin)
  const last = versions.find((version) => version['valid_to'] === null)
  // When UpdatedAt is ahead, the edit gets the time of its reading.
  const editedAt = record.isUpdateAhead ? (origin.readAt ?? record.updatedAt) : record.updatedAt
  // An edit that did not change UpdatedAt must not end a version before it began.
  const from =
    last && (last['valid_from'] as Date) > editedAt ? (last['valid_from'] as Date) : editedAt
  const recon = nextRecon(stored['core.reconditioning_item'] ?? [], record, rooftop, versionNo)
  const next: RowSet = {
    'core.evaluation': [row],
    'core.reconditioning_item': recon,
    'core.photo': photoRows(stored['core.photo'] ?? [], record, rooftop, origin),
    ...plainChildren(record, rooftop, origin),
  }
  const fields = changedFields(stored, next)
  // The hash covers what the config adds, e.g. the days in the rooftop's time zone: those are stored already.
  if (fields.length === 0)
    return touched(stored, { ...before, content_hash: record.hash }, record.updatedAt, origin)
  const version = versionRow(record, links, rooftop, origin, versionNo, fields, from)
  const ended = versions.map((old) => (old === last ? { ...old, valid_to: from } : old))
  return { ...next, 'core.evaluation_version': [...ended, version] }
}

function evaluationRow(
  record: EvaluationRecord,
  links: Row,
  rooftop: RooftopRow,
  origin: Origin,
  stamps: Row,
): Row {
  return {
    ...key(rooftop, record),
    group_id: rooftop.groupId,
    ...record.content.evaluation,
    ...links,
    source_updated_at: record.updatedAt,
    content_hash: record.hash,
    last_changed_at: origin.fetchedAt,
    gone_at: null,
    run_id: origin.runId,
    ...stamps,
  }
}

function versionRow(
  record: EvaluationRecord,
  links: Row,
  rooftop: RooftopRow,
  origin: Origin,
  versionNo: number,
  changedFields: readonly string[],
  validFrom: Date,
): Row {
  const { final_price, recon_total, odometer, condition_score } = record.content.evaluation
  return {
    ...key(rooftop, record),
    version_no: versionNo,
    valid_from: validFrom,
    valid_to: null,
    observed_at: origin.fetchedAt,
    changed_fields: changedFields,
    final_price,
    recon_total,
    odometer,
    condition_score,
    ...links,
    content_hash: record.hash,
    run_id: origin.runId,
  }
}

function reconRows(record: EvaluationRecord, rooftop: RooftopRow, firstVersion: number): Row[] {
  return record.content.recon.map((line) => ({
    ...key(rooftop, record),
    first_version: firstVersion,
    last_version: null,
    ...line,
  }))
}

/** The columns that make a reconditioning line differ from another. */
export const reconFields = [
  'line_no',
  'recon_type',
  'source',
  'cost',
  'value_text',
  'battery_soh_pct',
]

/** Lines have no id: the current set stays while it is the same, else it ends and the new one begins. */
function nextRecon(
  stored: readonly Row[],
  record: EvaluationRecord,
  rooftop: RooftopRow,
  versionNo: number,
): Row[] {
  const current = stored.filter((line) => line['last_version'] === null)
  const incoming = reconRows(record, rooftop, versionNo)
  if (sameRows(current, incoming, reconFields)) return [...stored]
  const ended = stored.map((line) =>
    line['last_version'] === null ? { ...line, last_version: versionNo - 1 } : line,
  )
  return [...ended, ...incoming]
}

/** A photo that is no longer there keeps its row with `removed_at`. */
function photoRows(
  stored: readonly Row[],
  record: EvaluationRecord,
  rooftop: RooftopRow,
  origin: Origin,
): Row[] {
  const before = new Map(stored.map((photo) => [photo['photo_id'], photo]))
  const now = record.content.photos.map((photo) => ({
    ...key(rooftop, record),
    ...photo,
    first_seen_at: before.get(photo['photo_id'])?.['first_seen_at'] ?? origin.fetchedAt,
    removed_at: null,
  }))
  const present = new Set(now.map((photo) => (photo as Row)['photo_id']))
  const gone = stored
    .filter((photo) => !present.has(photo['photo_id']))
    .map((photo) =>
      photo['removed_at'] === null ? { ...photo, removed_at: origin.fetchedAt } : photo,
    )
  return [...now, ...gone]
}

function plainChildren(
  record: EvaluationRecord,
  rooftop: RooftopRow,
  { erasedAt = null }: Origin,
): RowSet {
  const keyed = (rows: readonly Row[]) => rows.map((row) => ({ ...key(rooftop, record), ...row }))
  return {
    'core.custom_field_value': keyed(record.content.customFields),
    'core.user_price': keyed(record.content.userPrices),
    'pii.evaluation_customer': [
      { ...key(rooftop, record), ...record.content.customer, erased_at: erasedAt },
    ],
  }
}
