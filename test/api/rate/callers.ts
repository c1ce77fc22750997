import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { endsWithParent } from '../../support/child.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const program = fileURLToPath(new URL('caller-process.ts', import.meta.url))

/** A process of test/api/rate/caller-process.ts that has opened its context. */
export interface Caller {
  /** Ends the process as a command is ended, and waits for it. */
  stop(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  stderr(): string
}

/** Processes that share a warehouse and its keys. */
export interface Callers extends AsyncDisposable {
  readonly database: TestDatabase
  start(name: string, atOnce?: number): Promise<Caller>
}

/** `keys`: their names; the value of `north` is `secret-north`. */
export async function openCallers(
  baseUrl: string,
  keys: readonly string[],
  http: NonNullable<ConfigInput['http']>,
): Promise<Callers> {
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const config: ConfigInput = {
    appraisal: { baseUrl },
    warehouse: { url: database.url },
    keys: Object.fromEntries(
      keys.map((key) => [key, { value: `secret-${key}`, kind: 'partner', region: 'AU' }]),
    ),
    http,
  }
  await writeFile(file, JSON.stringify(config))
  const children: ChildProcess[] = []
  return {
    database,
    async start(name, atOnce = 8) {
      const child = spawn(process.execPath, [
        ...endsWithParent,
        program,
        file,
        name,
        String(atOnce),
      ])
      children.push(child)
      favour(child.pid!)
      return await callerOf(child)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(children.map((child) => end(child, 'SIGKILL')))
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Raises the priority of a process, where that is allowed. A process that waits for the CPU sends its requests in bursts, even
 *  if it spaced them evenly. The priority is normal again once the result is disposed. */
export function favour(pid: number): Disposable {
  try {
    setPriority(pid, -15)
  } catch {
    // Only root may.
  }
  return { [Symbol.dispose]: () => setPriority(pid, 0) }
}

async function callerOf(child: ChildProcess): Promise<Caller> {
  let stderr = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.stdout!.once('data', () => resolve())
  child.once('exit', (code) => reject(new Error(`The caller ended with ${code}: ${stderr}`)))
  await promise
  return {
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
    stderr: () => stderr,
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  child.kill(signal)
  await promise
}
