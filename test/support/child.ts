import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { rejectSignedLinks } from './signed-links.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

const watch = `setInterval(() => {
    try {
      process.kill(${process.pid}, 0)
    } catch ({ code }) {
      if (code === 'ESRCH') process.kill(process.pid, 'SIGKILL')
    }
  }, 1_000).unref()`
/** Arguments of node for a process that ends when this process has ended, even by SIGKILL. */
export const endsWithParent = ['--import', `data:text/javascript,${encodeURIComponent(watch)}`]

/** How a child process ended. */
export interface ChildResult {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A `forecourt` that runs in a process of its own. */
export interface Child {
  readonly pid: number
  readonly ended: Promise<ChildResult>
  kill(signal: NodeJS.Signals): void
  /** What it has written so far. */
  stdout(): string
  stderr(): string
}

export interface ChildOptions {
  readonly cwd: string
  /** Added to this process's own variables; one that is undefined is taken away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Arguments of node itself. */
  readonly node?: readonly string[]
  /** A command that starts node, e.g. `ip netns exec host`; it must become it, for `pid` and `kill` to mean the same. */
  readonly launcher?: readonly string[] | undefined
}

/** Starts `forecourt <args>`; a child that outlives the test is killed by the test's time-out alone, so await `ended`. */
export function startForecourt(args: readonly string[], options: ChildOptions): Child {
  const line = [
    ...(options.launcher ?? []),
    process.execPath,
    ...endsWithParent,
    ...(options.node ?? []),
    main,
    ...args,
  ]
  const child = spawn(line[0]!, line.slice(1), {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      out[name] += text
    })
  return {
    pid: child.pid!,
    ended: endOf(child).then((end) => {
      rejectSignedLinks(args, [out.stdout, out.stderr])
      return { ...end, ...out }
    }),
    kill: (signal) => child.kill(signal),
    stdout: () => out.stdout,
    stderr: () => out.stderr,
  }
}

/** Runs `forecourt <args>` to its end. */
export async function forecourt(
  args: readonly string[],
  options: ChildOptions,
): Promise<ChildResult> {
  return await startForecourt(args, options).ended
}

function endOf(child: ChildProcess): Promise<Pick<ChildResult, 'code' | 'signal'>> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
}

/** Stops a process with SIGSTOP and waits until the kernel says that it is stopped. */
export async function freeze(child: Child): Promise<void> {
  child.kill('SIGSTOP')
  await until(() => /^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8')))
}

/** Waits for a condition of another process; the time-out of the test limits the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10)
}
