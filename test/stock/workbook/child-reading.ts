import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const script = fileURLToPath(new URL('read-list-child.ts', import.meta.url))

/** What a separate process printed that read a list. */
export interface ChildReading {
  readonly rows: number
  readonly cells: number
  readonly refused: { readonly code: string; readonly message: string } | null
  readonly cpuSeconds: number
  readonly seconds: number
  /** The most memory of the process. */
  readonly megabytes: number
}

/** Reads a list in a process of its own. */
export async function readInChild(bytes: Buffer): Promise<ChildReading> {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'list')
  await writeFile(path, bytes)
  const { stdout } = await promisify(execFile)(process.execPath, [script, path])
  return JSON.parse(stdout) as ChildReading
}
