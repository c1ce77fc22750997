import { DuckDBInstance } from '@duckdb/node-api'

/** Reads Parquet with DuckDB, in this process and without a network. */
export interface DuckDb extends AsyncDisposable {
  rows(query: string): Promise<Record<string, unknown>[]>
}

export async function openDuckDb(): Promise<DuckDb> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  return {
    rows: async (query) => (await connection.runAndReadAll(query)).getRowObjectsJson(),
    [Symbol.asyncDispose]: async () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

/** A table function over these files. */
export function filesOf(folder: string, paths: readonly string[]): string {
  const list = paths.map((file) => `'${folder}/${file}'`).join(', ')
  return `read_parquet([${list}], hive_partitioning = false, union_by_name = false)`
}
