import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Real BI clients of Debian against a loaded warehouse: they are installed first, which takes a minute once. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/bi/*.pg.test.ts'],
    globalSetup: ['test/bi/install.ts', 'test/support/postgres-setup.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
  },
})
