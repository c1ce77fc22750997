import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DuckDb } from './duckdb.ts'

// Reads the log of a Delta table by the protocol alone, without the code that wrote it.

export interface DeltaFile {
  readonly path: string
  readonly size: number
  /** undefined: the table is not partitioned. */
  readonly month: string | null | undefined
  readonly stats: {
    readonly numRecords: number
    readonly minValues: Readonly<Record<string, unknown>>
    readonly maxValues: Readonly<Record<string, unknown>>
    readonly nullCount: Readonly<Record<string, number>>
  }
}

export interface DeltaTable {
  readonly version: number
  readonly files: readonly DeltaFile[]
  readonly rows: number
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly configuration: Readonly<Record<string, string>>
}

interface Action {
  readonly add?: {
    path: string
    size: number
    partitionValues: Record<string, string>
    stats: string
  } | null
  readonly remove?: { path: string } | null
  readonly metaData?: { schemaString: string; configuration: Record<string, string> } | null
}

/** The table at a version, else at its last one. */
export async function readDelta(
  duck: DuckDb,
  lake: string,
  table: string,
  at = Number.POSITIVE_INFINITY,
): Promise<DeltaTable> {
  const folder = join(lake, table, '_delta_log')
  const entries = (await readdir(folder)).sort()
  const versionOf = (name: string) => Number(name.slice(0, 20))
  const checkpoint = entries
    .filter((name) => /\.checkpoint\./.test(name) && versionOf(name) <= at)
    .at(-1)
  const from = checkpoint === undefined ? -1 : versionOf(checkpoint)
  const commits = entries.filter(
    (name) => name.endsWith('.json') && versionOf(name) > from && versionOf(name) <= at,
  )
  const actions =
    checkpoint === undefined ? [] : await readCheckpoint(duck, join(folder, checkpoint))
  let version = from
  for (const name of commits) {
    if (versionOf(name) !== version + 1) throw new Error(`${table} has no version ${version + 1}`)
    version += 1
    const text = await readFile(join(folder, name), 'utf8')
    actions.push(
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Action),
    )
  }
  const files = new Map<string, DeltaFile>()
  let metaData: Action['metaData'] = null
  for (const { add, remove, metaData: found } of actions) {
    metaData = found ?? metaData
    if (remove) files.delete(remove.path)
    if (add)
      files.set(add.path, {
        ...{ path: `${table}/${add.path}`, size: Number(add.size) },
        ...{ month: add.partitionValues['lake_month'], stats: JSON.parse(add.stats) },
      })
  }
  const { fields } = JSON.parse(metaData!.schemaString) as { fields: DeltaTable['columns'] }
  const live = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
  return {
    ...{ version, files: live, configuration: metaData!.configuration },
    rows: live.reduce((sum, { stats }) => sum + stats.numRecords, 0),
    columns: fields.filter(({ name }) => name !== 'lake_month'),
  }
}

async function readCheckpoint(duck: DuckDb, file: string): Promise<Action[]> {
  const maps = (name: string) => `to_json(${name})::varchar`
  const rows = await duck.rows(
    `select ${['add', 'remove', 'metaData'].map((name) => `${maps(`"${name}"`)} as "${name}"`).join(', ')} from read_parquet('${file}')`,
  )
  return rows.map((row) => {
    const parsed = Object.entries(row).map(([name, text]) => [
      name,
      JSON.parse(String(text ?? 'null')),
    ])
    return Object.fromEntries(parsed) as Action
  })
}

/** The tables of a lake: folders with a log. */
export async function deltaNames(lake: string): Promise<string[]> {
  const entries = await readdir(lake, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('_'))
    .map(({ name }) => name)
    .sort()
}

/** Every table at its last version. */
export async function readLake(duck: DuckDb, lake: string): Promise<Record<string, DeltaTable>> {
  const tables: Record<string, DeltaTable> = {}
  for (const name of await deltaNames(lake)) tables[name] = await readDelta(duck, lake, name)
  return tables
}

/** SQL of DuckDB for the rows of a table. */
export function rowsOf(lake: string, { files }: DeltaTable): string {
  if (files.length === 0) throw new Error('The table has no files.')
  const list = files.map(({ path }) => `'${join(lake, path)}'`).join(', ')
  return `read_parquet([${list}], hive_partitioning = false, union_by_name = false)`
}

/** A row of the table `export`. */
export interface ExportedTable {
  readonly export_number: string
  readonly exported_at: string
  readonly warehouse: string
  readonly mart_version: string
  readonly covered_to: string | null
  readonly table_name: string
  readonly table_version: string
  readonly row_count: string
}

/** The rows of the last export. */
export async function lastExport(duck: DuckDb, lake: string): Promise<ExportedTable[]> {
  const source = rowsOf(lake, await readDelta(duck, lake, 'export'))
  const rows = await duck.rows(
    `select * replace (epoch_ms(covered_to) as covered_to) from ${source}
     where export_number = (select max(export_number) from ${source}) order by table_name`,
  )
  return rows as unknown as ExportedTable[]
}
