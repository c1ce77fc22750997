import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const isPossible = process.getuid?.() === 0 && existsSync('/etc/debian_version')
const sentence =
  'test:containers starts real containers and installs Podman by apt: run it as root on Debian.'
// What is left out in CI would never be seen to fail.
if (!isPossible && process.env['CI'] !== undefined) throw new Error(sentence)
if (!isPossible) console.log(`Skipped: ${sentence}`)

/** The Dockerfile, the compose file and the manifest of Kubernetes in real containers, by Podman. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: isPossible ? ['test/containers/*.test.ts'] : [],
    passWithNoTests: !isPossible,
    globalSetup: isPossible ? ['test/containers/install.ts'] : [],
    // They share the engine and measure times.
    fileParallelism: false,
    testTimeout: 900_000,
    hookTimeout: 300_000,
    teardownTimeout: 300_000,
  },
})
