import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Real readers of Delta tables: delta-rs, Polars, DuckDB, Spark and Trino, which are installed first. That takes some minutes once. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/lake/*.pg.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    teardownTimeout: 60_000,
  },
})
