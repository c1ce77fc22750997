import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { runsEveryCase } from './support/cases.ts'
import { slowFirst } from './support/slow-first.ts'

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

// These take many seconds of CPU each, for many cases of what other files show in one.
const slow = [
  'test/api/rate/processes.pg.test.ts',
  'test/app/commands/api-bill-timeout.pg.test.ts',
  'test/app/commands/cron.pg.test.ts',
  'test/app/commands/long-output.test.ts',
  'test/app/commands/warehouse.pg.test.ts',
  'test/app/scheduler/three-schedulers.pg.test.ts',
  'test/crash/crash.pg.test.ts',
  'test/crash/idle-night.pg.test.ts',
  'test/crash/postgres-restart.pg.test.ts',
  'test/deploy/systemd.pg.test.ts',
  'test/faults/clock.pg.test.ts',
  'test/peers/course.pg.test.ts',
  'test/privacy/erase/rows-after-erasure.pg.test.ts',
  'test/readme.pg.test.ts',
  'test/simulation/mutants.pg.test.ts',
  'test/stock/csv/read/pollution.test.ts',
  'test/stock/import-model.pg.test.ts',
  'test/streams/stock-prices/batch-crash.pg.test.ts',
  'test/streams/stock-prices/due.pg.test.ts',
  'test/sync/completeness.pg.test.ts',
  'test/sync/growth.pg.test.ts',
  'test/tracing/documented.test.ts',
  'test/warehouse/access/managed.pg.test.ts',
  'test/warehouse/access/moved-rooftop.pg.test.ts',
  'test/warehouse/lake/known-changes.pg.test.ts',
  'test/warehouse/lake/readers.pg.test.ts',
  'test/warehouse/lake/scheduled.pg.test.ts',
  'test/warehouse/marts/charts.pg.test.ts',
  'test/warehouse/marts/malloy.pg.test.ts',
  'test/web/operations/restore.pg.test.ts',
]
if (!runsEveryCase) exclude.push(...slow)

const first = [
  ...slow,
  'test/api/learn/mutants.test.ts',
  'test/app/commands/demo.pg.test.ts',
  'test/conformance/conformance.test.ts',
  'test/hostile/hostile-lists.test.ts',
  'test/patterns.test.ts',
  'test/stock/folders/reading.pg.test.ts',
  'test/warehouse/lake/killed.pg.test.ts',
]

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    tags: [
      {
        name: 'ci',
        description: 'Takes seconds, and shows what other tests of its file or folder show too.',
      },
    ],
    ...(runsEveryCase ? {} : { tagsFilter: ['!ci'] }),
    // Many tests wait for a child, a poll or a delay: as many workers as cores left the machine idle for a third of the time.
    maxWorkers: availableParallelism() + 2,
    // Files share the modules of their worker: to evaluate them again for each took a quarter of the time.
    isolate: false,
    sequence: { sequencer: slowFirst(first) },
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
