import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isCode, UsageError } from '../../errors.ts'

const heartbeatMs = 1_000
// Measured by the clock of the waiting process, so that a lock does not appear dead after a laptop slept. The holder's pid says
// nothing: it may be in another container that shares the folder.
const silentMs = 10_000
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
  const startedAt = performance.now()
  let seen = read(path)
  let seenAt = startedAt
  for (;;) {
    try {
      writeFileSync(path, content, { flag: 'wx' })
      return
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error
    }
    const now = performance.now()
    const holder = read(path)
    if (holder?.content !== seen?.content || holder?.beat !== seen?.beat) {
      seen = holder
      seenAt = now
    }
    const isSilent = holder !== undefined && now - seenAt > silentMs
    if (isSilent && (await takeOver(path, holder.content, content))) return
    if (now - startedAt > timeoutMs)
      throw new UsageError(
        `Another command has held ${path} for ${timeoutMs / 1000} s: wait until it has ended, or ` +
          'remove that file when no forecourt command is running.',
      )
    await sleep(50)
  }
}

/** Replaces a lock without heartbeat. Of processes that do so at the same instant the last one has it: the others see its content. */
async function takeOver(path: string, silent: string, content: string): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}`
  writeFileSync(temporary, content)
  try {
    // A faster process may have taken it over by now.
    if (read(path)?.content !== silent) return false
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  await sleep(heartbeatMs)
  return read(path)?.content === content
}

function read(path: string): { content: string; beat: number } | undefined {
  try {
    return { content: readFileSync(path, 'utf8'), beat: statSync(path).mtimeMs }
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}
