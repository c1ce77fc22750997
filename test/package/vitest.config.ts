import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The published package: it is packed and installed from the registry, which takes a minute. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/package/*.test.ts'],
    fileParallelism: false,
    globalSetup: ['test/package/pack.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
