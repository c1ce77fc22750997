import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// No limit is meant to measure anything: a test must pass on a machine that has other work.
const timeouts = {
  ...{ testTimeout: 180_000, hookTimeout: 180_000, teardownTimeout: 60_000 },
  expect: { poll: { timeout: 150_000 } },
}
// Runs of their own: `npm run test:memory` and `npm run test:scale` take minutes, `npm run test:bi`, `npm run test:browser` and
// `npm run test:containers` need packages of Debian, `npm run test:package` a registry, `npm run test:faults` the whole machine.
const exclude = [
  ...['**/node_modules/**', '**/dist/**', '**/.forecourt/**'],
  ...[
    'test/memory/**',
    'test/scale/**',
    'test/bi/**',
    'test/browser/**',
    'test/containers/**',
    'test/ecosystem/**',
    'test/lake/**',
    'test/package/**',
    'test/faults/full/**',
  ],
]

// To load Malloy takes three seconds of CPU.
if (process.env['FORECOURT_TEST_ALL'] !== '1')
  exclude.push('test/warehouse/marts/malloy.pg.test.ts')

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // Many tests wait for a child, a poll or a delay: as many workers as cores left the machine idle for a third of the time.
    maxWorkers: availableParallelism() + 2,
    // Files share the modules of their worker: to evaluate them again for each took a quarter of the time.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, 'test/**/*.pg.test.ts'],
          ...timeouts,
        },
      },
      {
        extends: true,
        test: {
          name: 'pg',
          include: ['test/**/*.pg.test.ts'],
          exclude,
          globalSetup: ['test/support/postgres-setup.ts'],
          ...timeouts,
        },
      },
    ],
  },
})
