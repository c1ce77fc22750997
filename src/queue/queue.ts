/** Anything that runs a statement: a pool, or the client of an open transaction. */
export interface SqlRunner {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** What a queued piece of work is about: one stream of one rooftop, for one run. */
export interface WorkData {
  readonly runId: number
  readonly stream: string
  readonly rooftopUid: string
}

/** A claimed piece of work. `attempt` is the fence: once another worker has claimed it, this attempt commits nothing. */
export interface WorkItem {
  readonly id: string
  readonly attempt: number
  readonly data: WorkData
}

/** The live piece of work of a key. */
export interface Holder {
  readonly id: string
  readonly data: WorkData
  /** Somebody has claimed it; else it waits to be taken. */
  readonly isActive: boolean
}

export interface OfferOptions {
  /** It is taken no earlier. */
  readonly delaySeconds?: number
  /** The greater is taken first. */
  readonly priority?: number
}

/** What is not to be taken. */
export interface TakeOptions {
  /** Rooftops of which nothing is taken. */
  readonly strangers?: readonly string[]
  /** Nothing of a lower priority is taken. */
  readonly leastPriority?: number | undefined
}

/**
 * The work engine behind a small port: level-triggered work, one piece at a time per stream × rooftop.
 * What is due lies in our own tables; a lost message costs delay, never data.
 */
export interface Queue {
  /** Queues the work in the given transaction; when somebody holds it already, says who. */
  offer(on: SqlRunner, data: WorkData, options?: OfferOptions): Promise<Holder | null>
  /** Queues many pieces at once; those of a key that is held are left out. */
  offerAll(on: SqlRunner, pieces: readonly (readonly [WorkData, OfferOptions])[]): Promise<void>
  /** Puts the work in the place of what waits for its key; false when nothing waits there, as when it has just been claimed. */
  replace(on: SqlRunner, data: WorkData, options?: OfferOptions): Promise<boolean>
  /** Who holds these keys; a key that nobody holds is not among them. */
  holders(on: SqlRunner, keys: readonly string[]): Promise<Holder[]>
  /** A condition of SQL: whether somebody holds the key that the expression gives. For a statement that asks about very many. */
  isHeld(keyExpression: string): string
  /** Removes work of a run that is known to be dead. */
  drop(on: SqlRunner, id: string): Promise<void>
  /** Claims up to `limit` pieces. */
  take(limit: number, options?: TakeOptions): Promise<WorkItem[]>
  /** Says that the work is still going on; without it another worker takes over after `heartbeatSeconds`. */
  touch(items: readonly WorkItem[]): Promise<void>
  /** Ends the work in the transaction of its rows. FencedError when this attempt no longer holds it. */
  complete(on: SqlRunner, item: WorkItem): Promise<void>
  stop(): Promise<void>
}

/** `evaluations/7f3a…`: what at most one worker does at a time. */
export function queueKey(data: Pick<WorkData, 'stream' | 'rooftopUid'>): string {
  return `${data.stream}/${data.rooftopUid}`
}
