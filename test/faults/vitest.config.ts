import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** They measure what several processes reach together, or use every core themselves. */
const alone = ['test/faults/full/rate-law.test.ts', 'test/simulation/**/*.test.ts']

/**
 * Every fault, with real processes, and the long simulation: a quarter of an hour, in which nothing else should run. Most files wait
 * for a poll, a lease or a process that starts: two run at a time.
 */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    strictTags: false,
    globalSetup: ['test/support/postgres-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          exclude: alone,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
