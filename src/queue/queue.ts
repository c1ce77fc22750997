/** Anything that runs a statement: a pool, or the client of an open transaction. */
export interface SqlRunner {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** Queued work: one stream of one rooftop, for one run. */
export interface WorkData {
  readonly runId: number
  readonly stream: string
  readonly rooftopUid: string
}

/** Claimed work. `attempt` is the fence: after another worker claims the work, this attempt can commit nothing. */
export interface WorkItem {
  readonly id: string
  readonly attempt: number
  readonly data: WorkData
}

/** The queued or active work of a key. */
export interface Holder {
  readonly id: string
  readonly data: WorkData
  /** true: a worker has claimed it; false: it waits. */
  readonly isActive: boolean
}

/** When, and how urgently, work is taken. */
export interface OfferOptions {
  /** It can be taken only after this time. */
  readonly delaySeconds?: number
  /** Higher priorities are taken first. */
  readonly priority?: number
}

/** Limits what is taken. */
export interface TakeOptions {
  /** No work of these rooftops is taken. */
  readonly unknownRooftops?: readonly string[]
  /** No work of a lower priority is taken. */
  readonly minPriority?: number | undefined
}

/**
 * The work queue: at most one item at a time per stream × rooftop. It is level-triggered: what is due is in our own tables, so a
 * lost message costs time, never data.
 */
export interface Queue {
  /** Enqueues the work in the given transaction. If its key is held already, returns the holder. */
  offer(on: SqlRunner, data: WorkData, options?: OfferOptions): Promise<Holder | null>
  /** Enqueues many items at once; items whose key is held are left out. */
  offerAll(on: SqlRunner, items: readonly (readonly [WorkData, OfferOptions])[]): Promise<void>
  /** Replaces the waiting work of a key. false: nothing waits, for example because it has just been claimed. */
  replace(on: SqlRunner, data: WorkData, options?: OfferOptions): Promise<boolean>
  /** The holders of these keys; a free key has none. */
  holders(on: SqlRunner, keys: readonly string[]): Promise<Holder[]>
  /** An SQL condition: whether the key given by the expression is held. For statements about very many keys. */
  isHeld(keyExpression: string): string
  /** Removes work of a dead run. */
  drop(on: SqlRunner, id: string): Promise<void>
  /** Claims up to `limit` items. */
  take(limit: number, options?: TakeOptions): Promise<WorkItem[]>
  /** Sends a heartbeat for the work. Without it, another worker takes over after `heartbeatSeconds`. */
  touch(items: readonly WorkItem[]): Promise<void>
  /** Completes the work in the transaction of its rows. FencedError when this attempt no longer holds it. */
  complete(on: SqlRunner, item: WorkItem): Promise<void>
  stop(): Promise<void>
}

/** The queue's key, such as `evaluations/7f3a…`; at most one worker at a time works on it. */
export function queueKey(data: Pick<WorkData, 'stream' | 'rooftopUid'>): string {
  return `${data.stream}/${data.rooftopUid}`
}
