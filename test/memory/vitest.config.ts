import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The memory tests alone: they take some minutes, and nothing else may run beside them. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/memory/*.test.ts'],
    fileParallelism: false,
    globalSetup: ['test/support/postgres-setup.ts'],
    teardownTimeout: 60_000,
  },
})
