import type { Row, RowSet } from '../stream.ts'

/**
 * Puts a history that was folded from the kept payloads on top of stored versions whose payloads are no longer kept
 * (`retention.rawDays`). Without such versions the folded history is the whole one. Pure.
 */
export function rebaseEvaluation(stored: RowSet | null, folded: RowSet): RowSet {
  const kept = stored?.['core.evaluation']?.[0]
  if (!stored || !kept) return folded
  const first = (folded['core.evaluation_version'] ?? [])[0]
  const older = (stored['core.evaluation_version'] ?? [])
    .filter(
      (version) =>
        first !== undefined && (version['valid_from'] as Date) < (first['valid_from'] as Date),
    )
    .sort((a, b) => (a['version_no'] as number) - (b['version_no'] as number))
  // The window that listed it is known to the stored row alone.
  const placed = { ...folded['core.evaluation']![0]!, entry_at: kept['entry_at'] }
  if (older.length === 0) return { ...folded, 'core.evaluation': [placed] }
  const base = older.at(-1)!['version_no'] as number
  const shift = (row: Row, ...columns: string[]): Row => ({
    ...row,
    ...Object.fromEntries(
      columns.map((name) => [name, row[name] === null ? null : (row[name] as number) + base]),
    ),
  })
  const photos = folded['core.photo'] ?? []
  const shown = new Set(photos.map((photo) => photo['photo_id']))
  return {
    ...folded,
    'core.evaluation': [
      { ...shift(placed, 'version_no'), first_loaded_at: kept['first_loaded_at'] },
    ],
    'core.evaluation_version': [
      ...older.map((version, index) =>
        index === older.length - 1 ? { ...version, valid_to: first!['valid_from'] } : version,
      ),
      ...folded['core.evaluation_version']!.map((version) => shift(version, 'version_no')),
    ],
    'core.reconditioning_item': [
      ...(stored['core.reconditioning_item'] ?? [])
        .filter((line) => (line['first_version'] as number) <= base)
        .map((line) =>
          ((line['last_version'] ?? base + 1) as number) > base
            ? { ...line, last_version: base }
            : line,
        ),
      ...(folded['core.reconditioning_item'] ?? []).map((line) =>
        shift(line, 'first_version', 'last_version'),
      ),
    ],
    'core.photo': [
      ...photos,
      ...(stored['core.photo'] ?? []).filter((photo) => !shown.has(photo['photo_id'])),
    ],
  }
}
