import type { Row, RowSet } from '../record.ts'
import { sameRows } from './compare.ts'
import { reconFields } from './merge.ts'

/**
 * Puts a history that was folded from the kept payloads on top of stored versions whose payloads are no longer kept
 * (`retention.rawDays`). Without such versions the folded history is the whole one. Pure.
 */
export function rebaseEvaluation(stored: RowSet | null, folded: RowSet): RowSet {
  const kept = stored?.['core.evaluation']?.[0]
  if (!stored || !kept) return folded
  const [first, ...later] = folded['core.evaluation_version'] ?? []
  const versions = (stored['core.evaluation_version'] ?? []).toSorted(
    (a, b) => (a['version_no'] as number) - (b['version_no'] as number),
  )
  const beganAt = (version: Row) => (version['valid_from'] as Date).getTime()
  const older = versions.filter(
    (version) => first !== undefined && beganAt(version) < beganAt(first),
  )
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
      // What it changed can be told only against the one before it, whose payload has gone.
      {
        ...shift(first!, 'version_no'),
        changed_fields:
          versions.find((version) => beganAt(version) === beganAt(first!))?.['changed_fields'] ??
          first!['changed_fields'],
      },
      ...later.map((version) => shift(version, 'version_no')),
    ],
    'core.reconditioning_item': rebaseRecon(
      stored['core.reconditioning_item'] ?? [],
      (folded['core.reconditioning_item'] ?? []).map((line) =>
        shift(line, 'first_version', 'last_version'),
      ),
      base,
    ),
    'core.photo': [
      ...photos,
      ...(stored['core.photo'] ?? []).filter((photo) => !shown.has(photo['photo_id'])),
    ],
  }
}

/** Lines that went on from the versions before `base` into the first folded one began where they were stored to begin. */
function rebaseRecon(stored: readonly Row[], folded: readonly Row[], base: number): Row[] {
  const earlier = stored.filter((line) => (line['first_version'] as number) <= base)
  const isOpen = (line: Row) => ((line['last_version'] ?? base + 1) as number) > base
  const open = earlier.filter(isOpen)
  const begun = folded.filter((line) => line['first_version'] === base + 1)
  if (open.length === 0 || !sameRows(open, begun, reconFields))
    return [
      ...earlier.map((line) => (isOpen(line) ? { ...line, last_version: base } : line)),
      ...folded,
    ]
  const { first_version } = open[0]!
  return [
    ...earlier.filter((line) => !isOpen(line)),
    ...folded.map((line) => (begun.includes(line) ? { ...line, first_version } : line)),
  ]
}
