import type { Resumed } from '../../sync/windows/windowed-records.ts'
import type { RowSet } from '../../values/record.ts'
import type { EvaluationRows, ReconRow, VersionRow } from './merge.ts'

/**
 * What the stored rows say about an evaluation before its oldest stored payload, which was read at `at`: the older payloads were
 * deleted (`retention.rawDays`). null: none was. Pure.
 */
export function resumeEvaluation(storedRows: RowSet, at: Date): Resumed | null {
  const stored = storedRows as EvaluationRows
  const [row] = stored['core.evaluation']
  const versions = stored['core.evaluation_version'].toSorted((a, b) => a.version_no - b.version_no)
  const older = versions.filter((version) => version.observed_at < at)
  const newestOlder = older.at(-1)
  if (newestOlder === undefined || row?.first_loaded_at.getTime() === at.getTime()) return null
  const made = versions.find((version) => version.observed_at.getTime() === at.getTime())
  const next = versions.find((version) => version.observed_at > at)
  const shown =
    made?.version_no ?? (next ? next.version_no - 1 : (row?.version_no ?? newestOlder.version_no))
  // The payload made a version, or had the same content as the newest older one.
  const isNew = shown > newestOlder.version_no
  const versionNo = newestOlder.version_no + (isNew ? 1 : 0)
  const past = isNew ? older : older.slice(0, -1)
  const version = isNew ? made : newestOlder
  const hasOldRecon = versionNo > 1 && !version?.changed_fields.includes('reconditioning')
  const recon = reconBefore(stored['core.reconditioning_item'], versionNo)
  const before = {
    // Without facts, so that the payload differs from it.
    'core.evaluation': [
      {
        ...{ version_no: versionNo - 1, entry_at: row?.entry_at, gone_at: null },
        ...{ first_loaded_at: older[0]!.observed_at, last_changed_at: new Date(0) },
        ...{ source_updated_at: new Date(0), content_hash: Buffer.alloc(0) },
      },
    ],
    'core.evaluation_version': past.map((old) => (old === past.at(-1) ? open(old) : old)),
    'core.reconditioning_item': hasOldRecon ? recon.filter(isEnded) : recon,
    'core.photo': stored['core.photo']
      .filter((photo) => photo.first_seen_at < at)
      .map((photo) =>
        photo.removed_at !== null && photo.removed_at >= at
          ? { ...photo, removed_at: null }
          : photo,
      ),
  }
  const complete = (rebuiltRows: RowSet) => {
    const rebuilt = rebuiltRows as EvaluationRows
    const all = rebuilt['core.evaluation_version'].map((own) =>
      own.version_no === versionNo ? { ...own, ...undecided(version, isNew) } : own,
    )
    const current = all.at(-1)!
    const lines = rebuilt['core.reconditioning_item']
    return {
      ...rebuilt,
      'core.evaluation': rebuilt['core.evaluation'].map((evaluation) => ({
        ...evaluation,
        ...{ last_changed_at: current.observed_at, run_id: current.run_id },
      })),
      'core.evaluation_version': all.map((own, index) => ({
        ...own,
        valid_to: all[index + 1]?.valid_from ?? null,
      })),
      'core.reconditioning_item': hasOldRecon ? backdated(lines, versionNo, recon) : lines,
    }
  }
  return { before, complete }
}

/** What the oldest payload cannot say about its version: what it changed in the version before; and, where it did not make it,
 *  when it began. */
function undecided(stored: VersionRow | undefined, isNew: boolean): Partial<VersionRow> {
  if (stored === undefined) return { changed_fields: [] }
  const { changed_fields, valid_from, observed_at, run_id, content_hash } = stored
  return isNew
    ? { changed_fields }
    : { changed_fields, valid_from, observed_at, run_id, content_hash }
}

function open(version: VersionRow): VersionRow {
  return { ...version, valid_to: null }
}

function isEnded({ last_version }: ReconRow): boolean {
  return last_version !== null
}

/** The lines before a version; those that it may have ended are open. */
function reconBefore(stored: readonly ReconRow[], versionNo: number): ReconRow[] {
  return stored
    .filter((line) => line.first_version < versionNo)
    .map((line) =>
      (line.last_version ?? versionNo) >= versionNo - 1 ? { ...line, last_version: null } : line,
    )
}

/** The version did not change its lines: they began with those that were open before it. */
function backdated(
  rebuilt: readonly ReconRow[],
  versionNo: number,
  before: readonly ReconRow[],
): ReconRow[] {
  const known = before.find((line) => !isEnded(line))?.first_version
  const ended = before.filter(isEnded).map((line) => line.last_version! + 1)
  const first_version = known ?? Math.max(1, ...ended)
  return rebuilt.map((line) =>
    line.first_version === versionNo ? { ...line, first_version } : line,
  )
}
