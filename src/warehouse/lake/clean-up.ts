import type { FileStore } from '../store/file-store.ts'
import type { DeltaLog } from './delta-log.ts'
import type { PastExport } from './lake-state.ts'
import { parseLakePath } from './paths.ts'
import { inTurns } from './tasks.ts'

const removalsAtOnce = 8

interface CleanUp {
  readonly target: FileStore
  /** Of the tables that some readable export has. */
  readonly logs: ReadonlyMap<string, DeltaLog>
  /** Tables that no readable export has any more. */
  readonly dropped: ReadonlySet<string>
  /** The exports whose versions must stay readable. */
  readonly readable: readonly Pick<PastExport, 'versions'>[]
  /** Files that were removed from their table up to this time (ms) are deleted. */
  readonly removedUntil: number
  /** Whether files of the format before Delta tables are deleted. */
  readonly isReplaced: boolean
  readonly crashPoint: (name: string) => void
}

/**
 * Deletes data files that no readable version has, files that a killed export has left, log entries below the oldest readable
 * version, and dropped tables. Files of others stay. Returns the number of data files.
 */
export async function cleanUp(request: CleanUp): Promise<number> {
  const { target, logs, dropped, readable, removedUntil, crashPoint } = request
  const paths = [...(await target.list()).keys()]
  const firsts = firstEntries(paths, logs, readable)
  // Without its manifest such a lake was half deleted.
  const isReplaced = request.isReplaced || !paths.includes('manifest.json')
  const isGone = (path: string): boolean => {
    const parsed = parseLakePath(path)
    if (parsed === null) return false
    if (parsed.is === 'earlier format') return isReplaced
    const log = logs.get(parsed.table)
    if (log === undefined) return parsed.is === 'data' || dropped.has(parsed.table)
    if (parsed.is === 'last checkpoint') return false
    if (parsed.is !== 'data') return parsed.version < firsts.get(parsed.table)!
    if (log.files.has(parsed.path)) return false
    return (log.tombstones.get(parsed.path) ?? Number.NEGATIVE_INFINITY) <= removedUntil
  }
  const remove = async (path: string) => {
    await target.remove(path)
    crashPoint('lake-file-removed')
  }
  const [entries = [], files = []] = [true, false].map((isEntry) =>
    paths.filter((path) => path.includes('/_delta_log/') === isEntry && isGone(path)),
  )
  await inTurns(removalsAtOnce, files, remove)
  // The newest first, one after another: what a kill leaves is a log without a gap.
  for (const path of entries.toSorted().toReversed()) await remove(path)
  return files.length
}

/** The first log entry of each table that must stay: the newest checkpoint that every readable version is built on. */
function firstEntries(
  paths: readonly string[],
  logs: ReadonlyMap<string, DeltaLog>,
  readable: CleanUp['readable'],
): ReadonlyMap<string, number> {
  const firsts = new Map([...logs.keys()].map((table) => [table, 0]))
  for (const path of paths) {
    const parsed = parseLakePath(path)
    if (parsed?.is !== 'checkpoint') continue
    const log = logs.get(parsed.table)
    const oldest = Math.min(
      ...readable.map(({ versions }) => versions[parsed.table] ?? Number.POSITIVE_INFINITY),
      log?.version ?? 0,
    )
    const first = firsts.get(parsed.table)
    if (first !== undefined && parsed.version <= oldest)
      firsts.set(parsed.table, Math.max(first, parsed.version))
  }
  return firsts
}
