import type { RowSet } from '../../values/record.ts'
import { sameRows } from './compare.ts'
import { type EvaluationRows, type ReconRow, reconFields, type VersionRow } from './merge.ts'

/**
 * Puts a history that was rebuilt from the stored payloads on top of older versions whose payloads were deleted
 * (`retention.rawDays`). Without such versions the rebuilt history is complete. Pure.
 */
export function rebaseEvaluation(storedRows: RowSet | null, rebuiltRows: RowSet): RowSet {
  const stored = storedRows as EvaluationRows | null
  const rebuilt = rebuiltRows as EvaluationRows
  const storedRow = stored?.['core.evaluation'][0]
  if (!stored || !storedRow) return rebuilt
  const [first, ...later] = rebuilt['core.evaluation_version']
  const versions = stored['core.evaluation_version'].toSorted((a, b) => a.version_no - b.version_no)
  const beganAt = (version: VersionRow) => version.valid_from.getTime()
  const older = versions.filter(
    (version) => first !== undefined && beganAt(version) < beganAt(first),
  )
  // Only the stored row knows the window that listed the record.
  const placed = { ...rebuilt['core.evaluation']![0]!, entry_at: storedRow.entry_at }
  if (older.length === 0) return { ...rebuilt, 'core.evaluation': [placed] }
  const base = older.at(-1)!.version_no
  const renumbered = (version: VersionRow) => ({
    ...version,
    version_no: version.version_no + base,
  })
  const photos = rebuilt['core.photo']
  const shown = new Set(photos.map((photo) => photo.photo_id))
  return {
    ...rebuilt,
    'core.evaluation': [
      {
        ...placed,
        version_no: placed.version_no + base,
        first_loaded_at: storedRow.first_loaded_at,
      },
    ],
    'core.evaluation_version': [
      ...older.map((version, index) =>
        index === older.length - 1 ? { ...version, valid_to: first!.valid_from } : version,
      ),
      // Its changes can be found only against the version before it, whose payload was deleted.
      {
        ...renumbered(first!),
        changed_fields:
          versions.find((version) => beganAt(version) === beganAt(first!))?.changed_fields ??
          first!.changed_fields,
      },
      ...later.map(renumbered),
    ],
    'core.reconditioning_item': rebaseRecon(
      stored['core.reconditioning_item'],
      rebuilt['core.reconditioning_item'].map((line) => ({
        ...line,
        first_version: line.first_version + base,
        last_version: line.last_version === null ? null : line.last_version + base,
      })),
      base,
    ),
    'core.photo': [
      ...photos,
      ...stored['core.photo'].filter((photo) => !shown.has(photo.photo_id)),
    ],
  }
}

/** Lines that continue from an older version into the first rebuilt one keep the first version that is stored. */
function rebaseRecon(
  stored: readonly ReconRow[],
  rebuilt: readonly ReconRow[],
  base: number,
): ReconRow[] {
  const earlier = stored.filter((line) => line.first_version <= base)
  const isOpen = (line: ReconRow) => (line.last_version ?? base + 1) > base
  const open = earlier.filter(isOpen)
  const newLines = rebuilt.filter((line) => line.first_version === base + 1)
  if (open.length === 0 || !sameRows(open, newLines, reconFields))
    return [
      ...earlier.map((line) => (isOpen(line) ? { ...line, last_version: base } : line)),
      ...rebuilt,
    ]
  const { first_version } = open[0]!
  return [
    ...earlier.filter((line) => !isOpen(line)),
    ...rebuilt.map((line) => (newLines.includes(line) ? { ...line, first_version } : line)),
  ]
}
