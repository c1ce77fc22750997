import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Every fault, with real processes, and the long simulation: a quarter of an hour, in which nothing else should run. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/faults/**/*.test.ts', 'test/simulation/**/*.test.ts'],
    strictTags: false,
    fileParallelism: false,
    globalSetup: ['test/support/postgres-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
})
