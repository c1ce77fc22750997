import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { slowFirst } from '../support/slow-first.ts'

/** The console in Debian's Chromium, which is installed first. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/browser/*.pg.test.ts'],
    globalSetup: ['test/browser/install.ts', 'test/support/postgres-setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    maxWorkers: 2,
    // Half of the time of all.
    sequence: { sequencer: slowFirst(['test/browser/pages.pg.test.ts']) },
  },
})
