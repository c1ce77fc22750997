import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '../errors.ts'

const heartbeatMs = 1_000
// Measured by the clock of the waiting process, so that a lock does not appear dead after a laptop slept.
const silentMs = 10_000
// A pid that we cannot see may live in another container that shares the folder.
const silentWhenDeadMs = 2_500
const timeoutMs = 120_000

/** Runs `work` while this process alone holds the lock file `path`. A lock whose holder died is taken over. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const content = `${process.pid} ${randomUUID()}\n`
  await acquire(path, content)
  const heartbeat = setInterval(() => {
    const now = new Date()
    // When a heartbeat fails, the waiting processes notice it.
    utimes(path, now, now).catch(() => undefined)
  }, heartbeatMs)
  heartbeat.unref()
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    if (read(path)?.content === content) unlinkSync(path)
  }
}

async function acquire(path: string, content: string): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs
  let seen: { content: string; beat: number } | undefined
  let seenAt = performance.now()
  while (!create(path, content)) {
    const now = performance.now()
    const holder = read(path)
    if (holder?.content !== seen?.content || holder?.beat !== seen?.beat) {
      seen = holder
      seenAt = now
    }
    if (seen !== undefined && now - seenAt > (isDead(seen.content) ? silentWhenDeadMs : silentMs))
      removeStale(path, seen.content)
    else if (now > giveUpAt)
      throw new UsageError(
        `Another command has held ${path} for ${timeoutMs / 1000} s: wait until it has ended, or ` +
          'remove that file when no forecourt command is running.',
      )
    await sleep(50)
  }
}

function create(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: 'wx' })
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

// Only the holder and the owner of the guard may unlink the lock, and the owner of the guard reads the lock again first: so no waiter
// removes a lock that a faster waiter has just taken.
function removeStale(path: string, content: string): void {
  const guard = `${path}.stale`
  try {
    mkdirSync(guard)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
    // Its owner holds it for microseconds; an older one was left when a process was killed between two calls.
    if (Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > 60_000)
      removeGuard(guard)
    return
  }
  try {
    if (read(path)?.content === content) unlinkSync(path)
  } finally {
    removeGuard(guard)
  }
}

function removeGuard(guard: string): void {
  try {
    rmdirSync(guard)
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
}

function read(path: string): { content: string; beat: number } | undefined {
  try {
    return { content: readFileSync(path, 'utf8'), beat: statSync(path).mtimeMs }
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

// When another process has the same pid now, the missing heartbeat ends the lock.
function isDead(content: string): boolean {
  const pid = Number.parseInt(content, 10)
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return isCode(error, 'ESRCH')
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
