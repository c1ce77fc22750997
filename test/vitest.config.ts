import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const timeouts = { testTimeout: 60_000, hookTimeout: 60_000, teardownTimeout: 60_000 }
// Runs of their own: `npm run test:memory` takes two minutes, `npm run test:bi` needs the packages of Debian,
// `npm run test:faults` wants the machine for itself.
const always = [
  ...['**/node_modules/**', '**/dist/**', '**/.forecourt/**'],
  ...['test/memory/**', 'test/bi/**', 'test/faults/full/**'],
]
// What reads no clock but the source's, and takes long: a pass in another time zone leaves it out.
const zoneFree = [
  ...['access', 'archive', 'conformance', 'crash', 'csv/read', 'csv/write', 'db', 'erasure'],
  ...['links', 'retention', 'stock/export', 'operations', 'deploy', 'simulation', 'faults'],
].map((folder) => `test/${folder}/**`)
const zoneFreeFiles = [
  ...['commands/api-bill', 'commands/demo', 'commands/quarantine', 'commands/replay'],
  ...['commands/reprice', 'commands/stock-import', 'commands/verify', 'pipeline/batch'],
  ...['scheduler/alerts', 'scheduler/scheduler', 'scheduler/three-schedulers'],
  ...['sandbox/fuzz', 'streams/vehicle-checks/sixty-nights', 'streams/stock-prices/due'],
  ...['marts/aggregates', 'marts/charts', 'marts/columns', 'marts/lint', 'marts/malloy'],
  ...['commands/erase', 'commands/grant', 'commands/run', 'commands/schedule', 'stock/import-keys'],
].map((file) => `test/${file}*`)
const exclude = process.env['FORECOURT_ZONE_PASS']
  ? [...always, ...zoneFree, ...zoneFreeFiles]
  : always

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    maxWorkers: 2,
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
