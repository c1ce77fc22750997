import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** A separate process that answers one message at a time. */
export interface BenchProcess extends AsyncDisposable {
  ask<T>(message: unknown): Promise<T>
}

/** Starts a script of this folder, on one core where the machine has several and `taskset`. */
export function startProcess(script: string, core: number): BenchProcess {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const command = [...pinning(core), process.execPath, ...flagsFor(script), file]
  const child = spawn(command[0]!, command.slice(1), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  return {
    ask: (message) => ask(child, message),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

/** `BENCH_PROFILE=sandbox-process.ts` leaves a CPU profile of that process in the current folder. */
function flagsFor(script: string): string[] {
  return process.env['BENCH_PROFILE'] === script ? ['--cpu-prof'] : []
}

function pinning(core: number): string[] {
  if (core >= availableParallelism()) return []
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' })
    return ['taskset', '-c', String(core)]
  } catch {
    return []
  }
}

async function ask<T>(child: ChildProcess, message: unknown): Promise<T> {
  const answered = Promise.withResolvers<T>()
  const fail = (code: number | null) =>
    answered.reject(new Error(`A process of the benchmark ended with ${code}`))
  const take = (answer: unknown) => answered.resolve(answer as T)
  child.once('message', take)
  child.once('exit', fail)
  child.send(message as object)
  try {
    return await answered.promise
  } finally {
    child.off('message', take)
    child.off('exit', fail)
  }
}

/** Used in such a process: answers every message, and ends when the parent disconnects. */
export function answerMessages(answer: (message: unknown) => unknown): void {
  process.on('message', async (message) => process.send!(await answer(message)))
  process.on('disconnect', () => process.exit())
}
