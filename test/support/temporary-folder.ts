import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that is gone when it is disposed. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string
}

/** Begins the name of every temporary folder of the tests; the pid of its maker follows. */
export const folderPrefix = 'forecourt-test-'

/** An empty folder below the system's temporary directory, mode 0755 unless given. */
export async function temporaryFolder(mode = 0o755): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`))
  await chmod(path, mode)
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}
