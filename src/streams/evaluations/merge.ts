import type { MergeResult, Origin } from '../../sync/windows/windowed-records.ts'
import { isAhead } from '../../values/instant.ts'
import type { Row, RowSet } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { comparable, isSameValue } from '../../values/same-value.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { isWithin } from '../../values/window.ts'
import type { TableRow } from '../../warehouse/db/copy.ts'
import type { EvaluationRecord } from './normalise.ts'

type EvaluationTable =
  | 'core.evaluation'
  | 'core.evaluation_version'
  | 'core.reconditioning_item'
  | 'core.photo'
  | 'core.custom_field_value'
  | 'core.user_price'
  | 'pii.evaluation_customer'

/** The rows of an evaluation. */
export type EvaluationRows = { readonly [T in EvaluationTable]: readonly TableRow<T>[] }

type EvaluationRow = TableRow<'core.evaluation'>
export type VersionRow = TableRow<'core.evaluation_version'>
export type ReconRow = TableRow<'core.reconditioning_item'>
type PhotoRow = TableRow<'core.photo'>

/** The salesperson of an evaluation. */
export type Links = Pick<EvaluationRow, 'user_id'>

/**
 * Merges a record into the stored rows of an evaluation. Pure.
 * A record with an older UpdatedAt never replaces a newer one. With equal times the one read later wins; so it does when one of
 * the times is ahead of the source's clock, since such a time proves nothing.
 */
export function mergeEvaluation(
  storedRows: RowSet | null,
  record: EvaluationRecord,
  links: Links,
  rooftop: RooftopRow,
  origin: Origin,
): MergeResult {
  const stored = storedRows as EvaluationRows | null
  const before = stored?.['core.evaluation'][0]
  if (!stored || !before)
    return { outcome: 'inserted', rows: firstRows(record, links, rooftop, origin) }
  const storedAt = before.source_updated_at
  const isStoredAhead = isFuture(storedAt, origin)
  const isOlder = record.isUpdateAhead
    ? origin.fetchedAt < before.last_changed_at
    : record.updatedAt < storedAt
  if (isOlder && !isStoredAhead) {
    if (before.gone_at === null) return { outcome: 'stale' }
    // It is back at the source with an older state: the mark is removed, the newer content stays.
    return { outcome: 'updated', rows: touched(stored, before, storedAt, origin) }
  }
  const updatedAt = isStoredAhead || record.updatedAt > storedAt ? record.updatedAt : storedAt
  const same = record.hash.equals(before.content_hash)
  if (same && updatedAt.getTime() === storedAt.getTime() && before.gone_at === null)
    return { outcome: 'unchanged' }
  if (same) return { outcome: 'updated', rows: touched(stored, before, updatedAt, origin) }
  const next = { ...record, updatedAt }
  return { outcome: 'updated', rows: changed(stored, before, next, links, rooftop, origin) }
}

function isFuture(at: Date, { readAt }: Origin): boolean {
  return readAt !== undefined && isAhead(at, readAt)
}

function key(rooftop: RooftopRow, record: EvaluationRecord) {
  return { rooftop_id: rooftop.id, eval_id: record.evalId }
}

function firstRows(
  record: EvaluationRecord,
  links: Links,
  rooftop: RooftopRow,
  origin: Origin,
): EvaluationRows {
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
  const created = record.content.evaluation.created_at
  const agree = Math.abs(created.getTime() - record.entryAt.getTime()) < 1000
  const candidates = agree ? [record.entryAt] : [created, record.entryAt]
  if (!listedIn) return candidates[0]!
  return candidates.find((at) => isWithin(listedIn, at)) ?? fromUnixSeconds(listedIn.from)
}

/** The rows for the same content with a new UpdatedAt, or back in the list: no version is made. */
function touched(
  stored: EvaluationRows,
  before: EvaluationRow,
  updatedAt: Date,
  origin: Origin,
): Partial<EvaluationRows> {
  const oldVersions = stored['core.evaluation_version']
  const versions = withRealStarts(oldVersions, origin)
  return {
    'core.evaluation': [{ ...before, source_updated_at: updatedAt, gone_at: null }],
    ...(versions === oldVersions ? {} : { 'core.evaluation_version': versions }),
  }
}

/** Corrects versions that were stored with an UpdatedAt ahead of the source's clock: they begin when they were read. */
function withRealStarts(versions: readonly VersionRow[], origin: Origin): readonly VersionRow[] {
  if (!versions.some((version) => isFuture(version.valid_from, origin))) return versions
  const offset = origin.readAt!.getTime() - origin.fetchedAt.getTime()
  const sorted = versions
    .toSorted((a, b) => a.version_no - b.version_no)
    .map((version) => {
      if (!isFuture(version.valid_from, origin)) return version
      const readAt = version.observed_at.getTime() + offset
      return { ...version, valid_from: new Date(Math.min(readAt, origin.readAt!.getTime())) }
    })
  return sorted.map((version, index) => ({
    ...version,
    valid_to: sorted[index + 1]?.valid_from ?? null,
  }))
}

function changed(
  stored: EvaluationRows,
  before: EvaluationRow,
  record: EvaluationRecord,
  links: Links,
  rooftop: RooftopRow,
  origin: Origin,
): Partial<EvaluationRows> {
  const versionNo = before.version_no + 1
  const { first_loaded_at, entry_at } = before
  const stamps = { first_loaded_at, entry_at, version_no: versionNo }
  const row = evaluationRow(record, links, rooftop, origin, stamps)
  const versions = withRealStarts(stored['core.evaluation_version'], origin)
  const last = versions.find((version) => version.valid_to === null)
  // When UpdatedAt is ahead, the edit gets the time of its reading.
  const editedAt = record.isUpdateAhead ? (origin.readAt ?? record.updatedAt) : record.updatedAt
  // An edit that did not change UpdatedAt must not end a version before it began.
  const from = last && last.valid_from > editedAt ? last.valid_from : editedAt
  const recon = nextRecon(stored['core.reconditioning_item'], record, rooftop, versionNo)
  const next = {
    'core.evaluation': [row],
    'core.reconditioning_item': recon,
    'core.photo': photoRows(stored['core.photo'], record, rooftop, origin),
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
  links: Links,
  rooftop: RooftopRow,
  origin: Origin,
  stamps: Pick<EvaluationRow, 'first_loaded_at' | 'entry_at' | 'version_no'>,
): EvaluationRow {
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
  links: Links,
  rooftop: RooftopRow,
  origin: Origin,
  versionNo: number,
  changedFields: string[],
  validFrom: Date,
): VersionRow {
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

function reconRows(
  record: EvaluationRecord,
  rooftop: RooftopRow,
  firstVersion: number,
): ReconRow[] {
  return record.content.recon.map((line) => ({
    ...key(rooftop, record),
    first_version: firstVersion,
    last_version: null,
    ...line,
  }))
}

/** The columns that make a reconditioning line differ from another. */
const reconFields = ['line_no', 'recon_type', 'source', 'cost', 'value_text', 'battery_soh_pct']

/** Lines have no id: the current set stays while it is the same, else it ends and the new one begins. */
function nextRecon(
  stored: readonly ReconRow[],
  record: EvaluationRecord,
  rooftop: RooftopRow,
  versionNo: number,
): ReconRow[] {
  const current = stored.filter((line) => line.last_version === null)
  const incoming = reconRows(record, rooftop, versionNo)
  if (sameRows(current, incoming, reconFields)) return [...stored]
  const ended = stored.map((line) =>
    line.last_version === null ? { ...line, last_version: versionNo - 1 } : line,
  )
  return [...ended, ...incoming]
}

/** A photo that is no longer there keeps its row with `removed_at`. */
function photoRows(
  stored: readonly PhotoRow[],
  record: EvaluationRecord,
  rooftop: RooftopRow,
  origin: Origin,
): PhotoRow[] {
  const before = new Map(stored.map((photo) => [photo.photo_id, photo]))
  const now = record.content.photos.map((photo) => ({
    ...key(rooftop, record),
    ...photo,
    first_seen_at: before.get(photo.photo_id)?.first_seen_at ?? origin.fetchedAt,
    removed_at: null,
  }))
  const present = new Set(now.map((photo) => photo.photo_id))
  const gone = stored
    .filter((photo) => !present.has(photo.photo_id))
    .map((photo) =>
      photo.removed_at === null ? { ...photo, removed_at: origin.fetchedAt } : photo,
    )
  return [...now, ...gone]
}

function plainChildren(record: EvaluationRecord, rooftop: RooftopRow, { erasedAt = null }: Origin) {
  const keyed = <R extends object>(rows: readonly R[]) =>
    rows.map((row) => ({ ...key(rooftop, record), ...row }))
  return {
    'core.custom_field_value': keyed(record.content.customFields),
    'core.user_price': keyed(record.content.userPrices),
    'pii.evaluation_customer': [
      { ...key(rooftop, record), ...record.content.customer, erased_at: erasedAt },
    ],
  }
}

// Compares the stored rows of an evaluation with the rows that a record makes.

const bookkeeping = new Set([
  'source_updated_at',
  'content_hash',
  'last_changed_at',
  'first_loaded_at',
  'entry_at',
  'gone_at',
  'run_id',
  'version_no',
  'odometer_km',
  'rooftop_id',
  'eval_id',
  'group_id',
  'erased_at',
  'first_seen_at',
  'removed_at',
  'first_version',
  'last_version',
])
const childNames: Readonly<Record<string, string>> = {
  'core.reconditioning_item': 'reconditioning',
  'core.photo': 'photos',
  'core.custom_field_value': 'custom_fields',
  'core.user_price': 'user_prices',
  'pii.evaluation_customer': 'customer',
}

/** Columns and kinds of children that differ: `changed_fields` of a version. */
function changedFields(stored: RowSet, next: RowSet): string[] {
  const before = stored['core.evaluation']![0]!
  const after = next['core.evaluation']![0]!
  const columns = Object.keys(after).filter(
    (name) => !bookkeeping.has(name) && !isSameValue(before[name], after[name]),
  )
  const children = Object.entries(childNames)
    .filter(([table]) => !sameRows(current(stored[table]), current(next[table])))
    .map(([, name]) => name)
  return [...columns, ...children]
}

function current(rows: readonly Row[] = []): readonly Row[] {
  return rows.filter(
    (row) => (row['last_version'] ?? null) === null && (row['removed_at'] ?? null) === null,
  )
}

/** Equal as sets, by the given columns or by all that are not bookkeeping. */
function sameRows(
  left: readonly Row[],
  right: readonly Row[],
  columns?: readonly string[],
): boolean {
  if (left.length !== right.length) return false
  const names = columns ?? Object.keys(left[0] ?? {}).filter((name) => !bookkeeping.has(name))
  const lines = (rows: readonly Row[]) =>
    rows.map((row) => names.map((name) => comparable(row[name])).join('\u0001')).sort()
  const others = lines(right)
  return lines(left).every((line, index) => line === others[index])
}
