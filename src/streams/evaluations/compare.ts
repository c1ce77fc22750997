import type { Row, RowSet } from '../../values/record.ts'
import { comparable, isSameValue } from '../../values/same-value.ts'

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
export function changedFields(stored: RowSet, next: RowSet): string[] {
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
export function sameRows(
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
