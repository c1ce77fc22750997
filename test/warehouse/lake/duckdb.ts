import { DuckDBInstance } from '@duckdb/node-api'

/** Reads Parquet with DuckDB, in this process and without a network. */
export interface DuckDb extends AsyncDisposable {
  rows(query: string): Promise<Record<string, unknown>[]>
}

export async function openDuckDb(): Promise<DuckDb> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run("set timezone = 'UTC'")
  return {
    rows: async (query) => (await connection.runAndReadAll(query)).getRowObjectsJson(),
    [Symbol.asyncDispose]: async () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
