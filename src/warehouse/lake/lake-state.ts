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
