import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'

const root = fileURLToPath(new URL('../../../../../shared/', import.meta.url))

/** A file beside the repository, not part of it. */
export function sharedPath(path: string): string {
  return join(root, path)
}

/** A test of files that are private to the team: skipped, with its name, if they are missing. */
export function testOfShared(folder: string, name: string, run: () => Promise<void>): void {
  const isHere = existsSync(sharedPath(folder))
  if (isHere) test(name, run)
  else test.skip(`${name} (skipped: ${sharedPath(folder)} is not here)`, run)
}
