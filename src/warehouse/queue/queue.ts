import { randomUUID } from 'node:crypto'
import { type QueryExecutorProvider, sql } from 'kysely'
import type pg from 'pg'
import { type Db as BossDb, PgBoss } from 'pg-boss'
import { FencedError } from '../../errors.ts'

/** Anything that runs a statement: a pool, or the client of an open transaction. */
export interface SqlRunner {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** A stream of a rooftop. At most one slice at a time works on it, whichever run it belongs to. */
export interface WorkKey {
  readonly stream: string
  readonly rooftopUid: string
}

/** A message that a key has open work. Which run's work is next is decided from the ledger when it is taken. */
export interface QueueEntry {
  readonly key: WorkKey
  /** Higher priorities are taken first. */
  readonly priority: number
  /** It can be taken only after this time. */
  readonly delaySeconds: number
}

/** Claimed work. `attempt` is the fence: after another worker claims the work, this attempt can commit nothing. */
export interface WorkItem {
  readonly id: string
  readonly attempt: number
  readonly key: WorkKey
}

/** Limits what is taken. */
interface TakeOptions {
  /** No work of these rooftops is taken. */
  readonly unknownRooftops?: readonly string[]
  /** No work of a lower priority is taken. */
  readonly minPriority?: number | undefined
  /** No work of a higher priority is taken. */
  readonly maxPriority?: number | undefined
}

const schema = 'pgboss'
/** Queues of work have this prefix; what follows is the id of the source whose runs they serve. */
const queuePrefix = 'rooftop.sync.'
/** A worker without a heartbeat for this long loses its work; the minimum that pg-boss allows. */
const heartbeatSeconds = 10

/** Makes pg-boss use the given connection, so that its statements join our transaction. */
function bossDb(on: SqlRunner): BossDb {
  return { executeSql: async (text, values) => await on.query(text, values) }
}

/** Creates or upgrades the tables of pg-boss. Needs DDL rights; `migrate` calls it. */
export async function installQueue(pool: pg.Pool): Promise<void> {
  const boss = new PgBoss({ db: bossDb(pool), schema, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.stop({ graceful: false, close: false })
}

const queueOptions = {
  policy: 'exclusive',
  heartbeatSeconds,
  expireInSeconds: 3600,
  // pg-boss retries a killed worker's job without limit; only the pipeline ends a failing slice.
  retryLimit: 1_000_000,
  deleteAfterSeconds: 3600,
  retentionSeconds: 14 * 86_400,
} as const

/** Opens the queue of a source in a warehouse where pg-boss is installed. `onError` gets the errors of its background monitor. */
export async function openQueue(
  pool: pg.Pool,
  sourceId: number,
  onError: (error: Error) => void,
): Promise<Queue> {
  const boss = new PgBoss({
    db: bossDb(pool),
    schema,
    migrate: false,
    createSchema: false,
    schedule: false,
    supervise: true,
    superviseIntervalSeconds: 2,
    monitorIntervalSeconds: 2,
    monitorVacuum: false,
    reindex: false,
  })
  boss.on('error', onError)
  await boss.start()
  const name = `${queuePrefix}${sourceId}`
  if ((await boss.getQueue(name)) === null) await boss.createQueue(name, queueOptions)
  return new Queue(boss, sourceId, name)
}

/**
 * The work queue of a source: at most one entry per stream × rooftop, waiting or claimed (policy `exclusive`). It is
 * level-triggered: what is due is in the ledger, so a lost or superfluous message costs time, never data.
 */
export class Queue {
  /** The services that the work is read from, in ops.source: a process takes no work of others. */
  readonly sourceId: number
  readonly #boss: PgBoss
  readonly #name: string
  constructor(boss: PgBoss, sourceId: number, name: string) {
    this.#boss = boss
    this.sourceId = sourceId
    this.#name = name
  }

  /** Enqueues the entries in the given transaction. Returns those whose key is in the queue already, waiting or claimed. */
  async offer(on: SqlRunner, entries: readonly QueueEntry[]): Promise<QueueEntry[]> {
    if (entries.length === 0) return []
    const jobs = entries
      .map((entry) => ({
        id: randomUUID(),
        data: entry.key,
        ...whenTaken(entry),
        // So that a process can ignore rooftops that it does not know.
        group: { id: entry.key.rooftopUid },
        entry,
      }))
      // Sorted, so that two processes that offer the same keys cannot deadlock.
      .sort((a, b) => (a.singletonKey < b.singletonKey ? -1 : 1))
    const sent = jobs.map(({ entry: _, ...job }) => job)
    const inserted = await this.#boss.insert(this.#name, sent, { db: bossDb(on), returnId: true })
    const ids = new Set(inserted)
    return jobs.filter(({ id }) => !ids.has(id)).map(({ entry }) => entry)
  }

  /** Changes when the waiting work of a key is taken. false: nothing waits, because it is claimed or has just ended. */
  async reschedule(on: SqlRunner, entry: QueueEntry): Promise<boolean> {
    const options = { db: bossDb(on), ...whenTaken(entry) }
    return (await this.#boss.update(this.#name, undefined, options)).updated > 0
  }

  /** Takes claimed work away from the process that holds it, which can then commit nothing. */
  async revoke(on: SqlRunner, key: WorkKey): Promise<void> {
    const db = bossDb(on)
    const jobs = await this.#boss.findJobs(this.#name, { key: queueKey(key), db })
    const claimed = jobs.filter(({ state }) => state === 'active')
    if (claimed.length > 0) await this.#boss.deleteJob(this.#name, claimed, { db })
  }

  /** Claims up to `limit` items. */
  async take(
    limit: number,
    { unknownRooftops = [], minPriority, maxPriority }: TakeOptions = {},
  ): Promise<WorkItem[]> {
    const jobs = await this.#boss.fetch<WorkKey>(this.#name, {
      batchSize: limit,
      ...(unknownRooftops.length > 0 ? { ignoreGroups: [...unknownRooftops] } : {}),
      ...(minPriority === undefined ? {} : { minPriority }),
      ...(maxPriority === undefined ? {} : { maxPriority }),
    })
    return jobs.map(({ id, retryCount, data }) => ({ id, attempt: retryCount, key: data }))
  }

  /** The keys of claimed work on which a process of another source is at work too. Each of two that claim at once sees the other. */
  async findShared(
    db: QueryExecutorProvider,
    items: readonly WorkItem[],
  ): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ key: string }>`
      select distinct coalesce(singleton_key, '') as key from ${sql.table(`${schema}.job`)}
      where name in (select name from ${sql.table(`${schema}.queue`)} where name like ${`${queuePrefix}%`} and name <> ${this.#name})
        and coalesce(singleton_key, '') = any(${items.map(({ key }) => queueKey(key))}::text[])
        and state = 'active' and policy = 'exclusive'`.execute(db)
    return new Set(rows.map(({ key }) => key))
  }

  /** Sends a heartbeat for the work. Without it, another worker takes over after `heartbeatSeconds`. */
  async touch(items: readonly WorkItem[]): Promise<void> {
    if (items.length > 0) await this.#boss.touch(this.#name, items.map(asAttempt))
  }

  /** Completes the work in the transaction of its rows. FencedError when one of these attempts no longer holds its work. */
  async complete(on: SqlRunner, items: readonly WorkItem[]): Promise<void> {
    const done = (await this.#boss.complete(this.#name, items.map(asAttempt), null, {
      db: bossDb(on),
    })) as { affected?: number }
    if (done.affected === items.length) return
    const keys = items.map(({ key }) => queueKey(key)).join(', ')
    throw new FencedError(`Work ${keys} was taken over by another worker; nothing was written.`)
  }

  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false })
  }
}

/** The key, and when its work is taken. */
function whenTaken({ key, priority, delaySeconds }: QueueEntry) {
  return { singletonKey: queueKey(key), priority, startAfter: delaySeconds }
}

/** The key as one text, such as `evaluations/7f3a…`. */
export function queueKey({ stream, rooftopUid }: WorkKey): string {
  return `${stream}/${rooftopUid}`
}

function asAttempt({ id, attempt }: WorkItem): { id: string; retryCount: number } {
  return { id, retryCount: attempt }
}

/** The entries of all queues by state, and the age of the oldest that could be taken now. */
interface QueueCounts {
  readonly active: number
  readonly waiting: number
  readonly delayed: number
  readonly oldestSeconds: number
}

/** The entries of one stream and priority. */
export interface QueuePart extends Omit<QueueCounts, 'oldestSeconds'> {
  readonly stream: string
  readonly priority: number
  /** Since when the oldest could be taken; null: none waits. */
  readonly oldestAt: Date | null
}

/** Counts the queues of all sources. */
export async function countQueue(db: QueryExecutorProvider): Promise<QueueCounts> {
  const { rows } = await sql<QueueCounts>`
    select ${counts}, coalesce(extract(epoch from now() - ${oldest}), 0)::float8 as "oldestSeconds" ${ofQueue}`.execute(
    db,
  )
  return rows[0]!
}

/** Counts the parts of the queues of all sources. */
export async function countQueueParts(db: QueryExecutorProvider): Promise<QueuePart[]> {
  const { rows } = await sql<QueuePart>`
    select data ->> 'stream' as stream, priority, ${counts}, ${oldest} as "oldestAt" ${ofQueue} group by 1, 2`.execute(
    db,
  )
  return rows
}

// Statements of ours on a table of pg-boss: its getQueueStats() repeats counts that are up to a minute old, and knows no age.
const ofQueue = sql`from ${sql.table(`${schema}.job`)}
  where name in (select name from ${sql.table(`${schema}.queue`)} where name like ${`${queuePrefix}%`}) and state <= 'active'`
const isWaiting = sql`state < 'active' and start_after <= now()`
const oldest = sql`min(start_after) filter (where ${isWaiting})`
const counts = sql`
  count(*) filter (where state = 'active')::int as active,
  count(*) filter (where ${isWaiting})::int as waiting,
  count(*) filter (where state < 'active' and start_after > now())::int as delayed`
