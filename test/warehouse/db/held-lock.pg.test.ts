import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { HeldLock, type LockKey } from '#src/warehouse/db/held-lock.ts'
import { lockClass } from '#src/warehouse/db/locks.ts'
import { until } from '../../support/child.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const key: LockKey = ['run', 4711]
const keys = [lockClass.run, 4711]
/** A lost lock is not tried again sooner. */
const quietMs = 2_100

const inUse = (pool: pg.Pool) => pool.totalCount - pool.idleCount

async function tryFrom(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1, $2) as taken', keys)
  return rows[0].taken
}

/** Holds the lock on a session that the server then ends. */
async function lostLock(pool: pg.Pool): Promise<HeldLock> {
  const client = await pool.connect()
  const lock = await HeldLock.acquire(pool, client, key)
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await pool.query('select pg_terminate_backend($1, 5000)', [rows[0].pid])
  await until(async () => (await lock.ensureHeld()) === 'lost')
  return lock
}

test('a lock of another session is not waited for, costs at most one connection, and is retaken when that session releases it', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const lock = await lostLock(pool)
  const other = await pool.connect()
  expect(await tryFrom(other)).toBe(true)
  await sleep(quietMs)

  const keeps = Promise.all(Array.from({ length: 20 }, () => lock.ensureHeld()))
  const meanwhile = inUse(pool) + pool.waitingCount
  const results = await keeps

  expect(results).toEqual(Array(20).fill('lost'))
  expect(meanwhile).toBeLessThanOrEqual(2)
  expect(inUse(pool)).toBe(1)
  await other.query('select pg_advisory_unlock($1, $2)', keys)
  await until(async () => (await lock.ensureHeld()) === 'retaken')
  expect(await lock.ensureHeld()).toBe('held')
  expect(await tryFrom(other)).toBe(false)

  lock.release()
  await until(async () => await tryFrom(other))
  other.release()
  expect(inUse(pool)).toBe(0)
})

test('a lock released while it is taken again stays free, and leaves no connection behind', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const lock = await lostLock(pool)
  await sleep(quietMs)

  const held = lock.ensureHeld()
  lock.release()

  expect(await held).toBe('lost')
  expect(inUse(pool)).toBe(0)
  const other = await pool.connect()
  expect(await tryFrom(other)).toBe(true)
  other.release(true)
  expect(await lock.ensureHeld()).toBe('lost')
})
