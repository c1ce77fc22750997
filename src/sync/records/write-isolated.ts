import type pg from 'pg'
import type { Issue } from '../../values/record.ts'
import { inTransaction, runAndRollBack, type Tx } from '../../warehouse/db/transaction.ts'
import type { SliceJob } from '../run/stream.ts'
import { errorIssues, isDataFault } from './record-fault.ts'

/** How records are written. */
export interface IsolatedWrite<Item, Result> {
  /** Everything that the transaction does. */
  write(tx: Tx, items: readonly Item[]): Promise<Result>
  /** The part of it that can fail because of a record's data. */
  store(tx: Tx, items: readonly Item[]): Promise<unknown>
  /** Turns a record into a rejected one. */
  reject(item: Item, issues: readonly Issue[]): Item
}

/**
 * Writes records in one transaction. If their data makes it fail, the records are halved, in transactions that are rolled back,
 * until those that fail alone are found. Then all are written again with these rejected. Of records that fail only together, the
 * later one is rejected. Faults without a bad record are thrown: a lost connection, a deadlock, a fence, or, until the slice was
 * retried, a key that another process inserted first.
 */
export async function writeIsolated<Item, Result>(
  { context: { pool, log }, stream, rooftop, run, isLastTry }: SliceJob,
  items: readonly Item[],
  { write, store, reject }: IsolatedWrite<Item, Result>,
): Promise<Result> {
  const faults = new Map<Item, unknown>()
  for (let isFirst = true; ; isFirst = false) {
    const writable = items.map((item) =>
      faults.has(item) ? reject(item, errorIssues(faults.get(item))) : item,
    )
    try {
      return await inTransaction(pool, (tx) => write(tx, writable), 'slice')
    } catch (error) {
      if (!isDataFault(error) || (isCollision(error) && isLastTry !== true)) throw error
      const left = items.filter((item) => !faults.has(item))
      const found = isFirst ? await failingAlone(pool, left, store) : []
      const more = found.length > 0 ? found : await failingTogether(pool, left, store)
      if (more.length === 0) throw error
      for (const [item, fault] of more) faults.set(item, fault)
      const about = { stream: stream.name, rooftop: rooftop.uid, runId: run.runId }
      log.warn({ ...about, records: more.length }, 'records cannot be stored; quarantined')
    }
  }
}

type Store<Item> = IsolatedWrite<Item, unknown>['store']
type Faults<Item> = readonly (readonly [Item, unknown])[]

/** Whether another process may have inserted the same key first. */
function isCollision(error: unknown): boolean {
  return (error as { code?: unknown }).code === '23505'
}

/** The data fault when storing these records; undefined when there is none. */
async function findFault<Item>(
  pool: pg.Pool,
  items: readonly Item[],
  store: Store<Item>,
): Promise<unknown> {
  try {
    await runAndRollBack(pool, (tx) => store(tx, items))
    return undefined
  } catch (error) {
    if (!isDataFault(error)) throw error
    return error
  }
}

/** The records that cannot be stored even alone. */
async function failingAlone<Item>(
  pool: pg.Pool,
  items: readonly Item[],
  store: Store<Item>,
): Promise<Faults<Item>> {
  if (items.length === 0) return []
  const fault = await findFault(pool, items, store)
  if (fault === undefined) return []
  if (items.length === 1) return [[items[0]!, fault]]
  const middle = items.length >> 1
  const left = await failingAlone(pool, items.slice(0, middle), store)
  return [...left, ...(await failingAlone(pool, items.slice(middle), store))]
}

/** The first record that cannot be stored together with those before it. */
async function failingTogether<Item>(
  pool: pg.Pool,
  items: readonly Item[],
  store: Store<Item>,
): Promise<Faults<Item>> {
  let fault = await findFault(pool, items, store)
  if (fault === undefined || items.length === 0) return []
  let [stored, failed] = [0, items.length]
  while (failed - stored > 1) {
    const middle = (stored + failed) >> 1
    const error = await findFault(pool, items.slice(0, middle), store)
    if (error === undefined) stored = middle
    else [failed, fault] = [middle, error]
  }
  return [[items[failed - 1]!, fault]]
}
