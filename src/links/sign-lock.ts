import type pg from 'pg'
import { lockClass } from '../values/lock-classes.ts'

const signLockClass = lockClass.signLinks
const lockNotAvailable = '55P03'

/** Another process held the lock for too long. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout'
}

/** Runs `work` while no other process does so for the same key; LockTimeout when it cannot begin in time. Uses a connection
 *  meanwhile. */
export async function withSignLock<T>(
  pool: pg.Pool,
  key: string,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let isFree = false
  try {
    await acquire(client, key, timeoutMs)
    try {
      return await work()
    } finally {
      await client.query('select pg_advisory_unlock($1::int, hashtext($2))', [signLockClass, key])
      isFree = true
    }
  } finally {
    // A session that may still hold the lock is ended, and the lock with it.
    client.release(!isFree)
  }
}

async function acquire(client: pg.PoolClient, key: string, timeoutMs: number): Promise<void> {
  try {
    await client.query('begin')
    await client.query("select set_config('lock_timeout', $1, true)", [String(timeoutMs)])
    await client.query('select pg_advisory_lock($1::int, hashtext($2))', [signLockClass, key])
    await client.query('commit')
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== lockNotAvailable) throw cause
    throw new LockTimeout(`Another process has been signing these links for ${timeoutMs} ms.`, {
      cause,
    })
  }
}
