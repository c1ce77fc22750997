import { randomUUID } from 'node:crypto'

/** The column that a table is partitioned by: the month of its rows (YYYY-MM). */
export const monthColumn = 'lake_month'
/** As Hive writes a partition without a value. */
const noMonth = '__HIVE_DEFAULT_PARTITION__'
const logFolder = '_delta_log'
/** Names the newest checkpoint, so that readers need not list the log. */
export const lastCheckpoint = `${logFolder}/_last_checkpoint`

/** A path below the folder of a table that no file has had before. Nothing in it needs to be encoded in the log. */
export function newFilePath(month: string | null | undefined): string {
  const folder = month === undefined ? '' : `${monthColumn}=${month ?? noMonth}/`
  return `${folder}part-${randomUUID()}.zstd.parquet`
}

/** Below the folder of a table (PROTOCOL.md, Delta Log Entries). */
export function commitPath(version: number): string {
  return `${logFolder}/${padded(version)}.json`
}

/** Below the folder of a table (PROTOCOL.md, Checkpoints). */
export function checkpointPath(version: number): string {
  return `${logFolder}/${padded(version)}.checkpoint.parquet`
}

function padded(version: number): string {
  return String(version).padStart(20, '0')
}

/** What a file of a lake is; null: an export did not write it. */
type LakePath =
  | { readonly is: 'data'; readonly table: string; readonly path: string }
  | { readonly is: 'commit' | 'checkpoint'; readonly table: string; readonly version: number }
  | { readonly is: 'last checkpoint'; readonly table: string }
  | { readonly is: 'earlier format' }

const data =
  /^(\w+)\/((?:lake_month=(?:\d{4,6}-\d\d|__HIVE_DEFAULT_PARTITION__)\/)?part-[\da-f-]{36}\.zstd\.parquet)$/
const log = /^(\w+)\/_delta_log\/(\d{20})\.(json|checkpoint\.parquet)$/
const last = /^(\w+)\/_delta_log\/_last_checkpoint$/
/** Up to version 1.0: files named by their digest, a manifest, and a record of an unfinished export. */
const earlier =
  /^(?:manifest\.json|_progress\.json|\w+\/(?:rooftop=\d+\/month=[^/]{1,40}\/)?[\da-f]{24}\.parquet)$/

/** Reads a path below the lake. */
export function parseLakePath(path: string): LakePath | null {
  const file = data.exec(path)
  if (file !== null) return { is: 'data', table: file[1]!, path: file[2]! }
  const entry = log.exec(path)
  if (entry !== null)
    return {
      is: entry[3] === 'json' ? 'commit' : 'checkpoint',
      ...{ table: entry[1]!, version: Number(entry[2]) },
    }
  const hint = last.exec(path)
  if (hint !== null) return { is: 'last checkpoint', table: hint[1]! }
  return earlier.test(path) ? { is: 'earlier format' } : null
}
