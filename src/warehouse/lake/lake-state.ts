import { z } from 'zod'
import { type FileStore, StoreError } from '../store/file-store.ts'
import { DeltaLog } from './delta-log.ts'
import { parseLakePath } from './paths.ts'
import { inTurns } from './tasks.ts'

/** The table that names the versions of all tables which belong together. */
export const exportTable = 'export'
const logsAtOnce = 8

const tags = z.object({
  /** The number of the export. */
  number: z.coerce.number(),
  /** When its versions became visible, in ms. */
  at: z.coerce.number(),
  finishedAt: z.string(),
  warehouse: z.string(),
  lastErasure: z.coerce.number(),
  /** Names this export in the warehouse. */
  token: z.string().optional(),
  /** When all rows of all tables were last compared, in ms. */
  comparedAt: z.coerce.number().optional(),
  /** JSON: the version of each table. */
  versions: z
    .string()
    .transform((text) => z.record(z.string(), z.number()).parse(JSON.parse(text))),
})

/** One complete export, as the table `export` records it. */
export type PastExport = Readonly<z.infer<typeof tags>> & { readonly path: string }

/** What a lake has. */
export interface LakeState {
  readonly logs: Map<string, DeltaLog>
  /** The size of every stored data file, by its path below the lake. */
  readonly sizes: ReadonlyMap<string, number>
  /** Complete exports whose versions can still be read, the newest last. */
  readonly exports: readonly PastExport[]
  /** Files of the format before Delta tables. */
  readonly earlier: readonly string[]
}

/** Reads the logs of all tables. StoreError when one is damaged. */
export async function readLakeState(target: FileStore): Promise<LakeState> {
  const sizes = new Map<string, number>()
  const earlier: string[] = []
  const entries = new Map<string, { commits: number[]; checkpoints: number[] }>()
  for (const [path, size] of await target.list()) {
    const parsed = parseLakePath(path)
    if (parsed === null) continue
    if (parsed.is === 'data') sizes.set(path, size)
    else if (parsed.is === 'earlier format') earlier.push(path)
    else if (parsed.is !== 'last checkpoint') {
      const entry = entries.get(parsed.table) ?? { commits: [], checkpoints: [] }
      entries.set(parsed.table, entry)
      entry[parsed.is === 'commit' ? 'commits' : 'checkpoints'].push(parsed.version)
    }
  }
  const logs = new Map<string, DeltaLog>()
  await inTurns(logsAtOnce, entries, async ([table, logEntry]) => {
    logs.set(table, await DeltaLog.open(target, table, logEntry))
  })
  return { logs, sizes, earlier, exports: listExports(logs.get(exportTable)) }
}

function listExports(log: DeltaLog | undefined): PastExport[] {
  const found = [...(log?.files.values() ?? [])].flatMap((file) => {
    const parsed = tags.safeParse(file.tags)
    return parsed.success ? [{ ...parsed.data, path: file.path }] : []
  })
  return found.toSorted((a, b) => a.number - b.number)
}

/** The setting of a table that names its warehouse. */
export const ownerSetting = 'forecourt.warehouse'

/**
 * StoreError unless this warehouse may write to the lake. `isReplaced`: it also may where another warehouse, or a version before
 * Delta tables, has written.
 */
export function assertOwn(
  { name }: FileStore,
  state: LakeState,
  warehouse: string,
  isReplaced: boolean,
): void {
  for (const [table, { foreign, metaData }] of state.logs) {
    const owner = metaData?.configuration[ownerSetting]
    const engine = foreign?.engine ?? (owner === undefined ? 'another program' : null)
    if (engine !== null)
      throw new StoreError(
        `The table ${table} in ${name} has a version of ${engine}`,
        'let only Forecourt write there: name another folder or prefix, or remove the folder of the table to export it again',
      )
    if (owner !== warehouse && !isReplaced)
      throw new StoreError(
        `${name} is the lake of another warehouse (${owner}; this one is ${warehouse})`,
        'name another folder or prefix, or add --replace if that warehouse has moved here',
      )
  }
  if (state.earlier.includes('manifest.json') && !isReplaced)
    throw new StoreError(
      `${name} has files of an earlier version of Forecourt (manifest.json), which are not Delta tables`,
      'name another folder or prefix, or add --replace to export everything again and remove them',
    )
}

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
