import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Tools of Python that read what Forecourt hands over. Each file installs its tools first, which takes a minute once. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/ecosystem/*.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
  },
})
