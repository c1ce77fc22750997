import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The memory test alone: it takes a minute, and nothing else may run beside it. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/memory/*.pg.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    teardownTimeout: 60_000,
  },
})
