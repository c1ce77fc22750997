import type { Row, RowSet } from '../../values/record.ts'

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
    (name) => !bookkeeping.has(name) && !sameValue(before[name], after[name]),
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

function sameValue(left: unknown, right: unknown): boolean {
  return comparable(left) === comparable(right)
}

/** The same text for a stored value and for the normalised value that equals it. */
function comparable(value: unknown): string {
  if (value === null || value === undefined) return '\u0000'
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object') return canonical(value)
  const text = String(value)
  return text.startsWith('{') || text.startsWith('[') ? canonicalText(text) : text
}

function canonicalText(text: string): string {
  try {
    return canonical(JSON.parse(text))
  } catch {
    return text
  }
}

/** JSON with sorted keys: jsonb does not keep their order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
