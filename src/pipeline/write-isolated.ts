import type pg from 'pg'
import { inTransaction, rehearse, type Tx } from '../db/transaction.ts'
import type { Issue } from '../streams/record.ts'
import { isDataFault, issuesOf } from './record-fault.ts'
import type { SliceJob } from './slice.ts'

/** How records are written. */
export interface IsolatedWrite<Item, Result> {
  /** All that the transaction does. */
  write(tx: Tx, items: readonly Item[]): Promise<Result>
  /** The part of it that the data of a record can fail. */
  store(tx: Tx, items: readonly Item[]): Promise<unknown>
  /** The record as one that does not fit. */
  reject(item: Item, issues: readonly Issue[]): Item
}

/**
 * Writes records in one transaction. Only when their data fails it are they halved, in transactions that are rolled back, until
 * those are found that fail by themselves; all is written again with these rejected. What nobody's data causes is thrown: a
 * connection that is lost, a deadlock, a fence, or, until the slice was planned anew, a key that another process was quicker with.
 */
export async function writeIsolated<Item, Result>(
  { context: { pool, log }, stream, rooftop, run, isLastTry }: SliceJob,
  items: readonly Item[],
  { write, store, reject }: IsolatedWrite<Item, Result>,
): Promise<Result> {
  try {
    return await inTransaction(pool, (tx) => write(tx, items))
  } catch (error) {
    if (!isDataFault(error) || (isCollision(error) && isLastTry !== true)) throw error
    const faults = await findFaults(pool, items, store)
    if (faults.size === 0) throw error
    const about = { stream: stream.name, rooftop: rooftop.uid, runId: run.runId }
    log.warn({ ...about, records: faults.size }, 'records cannot be stored: put in quarantine')
    const kept = items.map((item) =>
      faults.has(item) ? reject(item, issuesOf(faults.get(item))) : item,
    )
    return await inTransaction(pool, (tx) => write(tx, kept))
  }
}

function isCollision(error: unknown): boolean {
  return (error as { code?: unknown }).code === '23505'
}

/** The records that cannot be stored by themselves, each with its error. */
async function findFaults<Item>(
  pool: pg.Pool,
  items: readonly Item[],
  store: IsolatedWrite<Item, unknown>['store'],
): Promise<Map<Item, unknown>> {
  if (items.length === 0) return new Map()
  try {
    await rehearse(pool, (tx) => store(tx, items))
    return new Map()
  } catch (error) {
    if (!isDataFault(error)) throw error
    if (items.length === 1) return new Map([[items[0]!, error]])
    const middle = items.length >> 1
    const left = await findFaults(pool, items.slice(0, middle), store)
    const right = await findFaults(pool, items.slice(middle), store)
    return new Map([...left, ...right])
  }
}
