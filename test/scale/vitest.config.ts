import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The pages of the console over a million evaluations; nothing else may run beside them. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/scale/**/*.pg.test.ts'],
    fileParallelism: false,
    globalSetup: ['test/support/postgres-setup.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
    teardownTimeout: 60_000,
  },
})
