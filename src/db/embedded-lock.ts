import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '../errors.ts'

const heartbeatMs = 1_000
// Watched by the waiter's own clock, so a laptop that slept does not make a living lock look dead.
const silentMs = 10_000
// A pid that we cannot see may live in another container that shares the folder.
const silentWhenDeadMs = 2_500
const patienceMs = 120_000

/** Holds `path` alone among all processes while `work` runs; a lock whose holder died is taken over. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const content = `${process.pid} ${randomUUID()}\n`
  await acquire(path, content)
  const heartbeat = setInterval(() => {
    const now = new Date()
    // A heartbeat that fails is noticed by the waiters, who are the ones concerned.
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
  const giveUpAt = performance.now() + patienceMs
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
        `Another command has held ${path} for ${patienceMs / 1000} s: wait until it is done, or ` +
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

// Only the holder or whoever owns the guard may unlink the lock, and the guard's owner looks again
// first: so no waiter can remove a lock that a faster waiter has just taken.
function removeStale(path: string, content: string): void {
  const guard = `${path}.stale`
  try {
    mkdirSync(guard)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
    // Its owner holds it for microseconds; an old one was left by a kill between two calls.
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

// A pid that was given to another process keeps the lock only until the heartbeat's silence shows.
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
