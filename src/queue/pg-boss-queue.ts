import type pg from 'pg'
import { type Db as BossDb, PgBoss } from 'pg-boss'
import { FencedError } from '../errors.ts'
import {
  type Holder,
  type OfferOptions,
  type Queue,
  type SqlRunner,
  type TakeOptions,
  type WorkData,
  type WorkItem,
  queueKey,
} from './queue.ts'

const queueName = 'rooftop.sync'
const schema = 'pgboss'
/** A worker without a heartbeat for this long loses its work; the minimum that pg-boss allows. */
export const heartbeatSeconds = 10

/** Makes pg-boss use the given connection, so that its statements join our transaction. */
function bossDb(on: SqlRunner): BossDb {
  return { executeSql: async (text, values) => await on.query(text, values) }
}

/** Creates or upgrades the tables of pg-boss. Needs DDL rights; `migrate` calls it. */
export async function installQueue(pool: pg.Pool): Promise<void> {
  const boss = new PgBoss({ db: bossDb(pool), schema, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  const options = {
    policy: 'exclusive',
    heartbeatSeconds,
    expireInSeconds: 3600,
    // pg-boss retries a killed worker's job without limit; only the pipeline ends a failing slice.
    retryLimit: 1_000_000,
    deleteAfterSeconds: 3600,
    retentionSeconds: 14 * 86_400,
  } as const
  await boss.createQueue(queueName, options)
  await boss.stop({ graceful: false, close: false })
}

/** Opens the queue of a warehouse where it is installed. `onError` gets the errors of its background monitor. */
export async function openQueue(pool: pg.Pool, onError: (error: Error) => void): Promise<Queue> {
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
  return new PgBossQueue(boss)
}

class PgBossQueue implements Queue {
  readonly #boss: PgBoss
  constructor(boss: PgBoss) {
    this.#boss = boss
  }

  async offer(on: SqlRunner, data: WorkData, options: OfferOptions = {}): Promise<Holder | null> {
    const id = await this.#boss.send(queueName, data, { db: bossDb(on), ...asSent(data, options) })
    if (id !== null) return null
    const [holder] = await this.holders(on, [queueKey(data)])
    // The holder ended between the two statements: the key is free now.
    return holder ?? (await this.offer(on, data, options))
  }

  async offerAll(
    on: SqlRunner,
    pieces: readonly (readonly [WorkData, OfferOptions])[],
  ): Promise<void> {
    // Sorted, so that two processes that offer the same keys cannot deadlock.
    const jobs = pieces
      .map(([data, { priority = 0, delaySeconds = 0 }]) => ({
        data,
        priority,
        startAfter: delaySeconds,
        singletonKey: queueKey(data),
        group: { id: data.rooftopUid },
      }))
      .sort((a, b) => (a.singletonKey < b.singletonKey ? -1 : 1))
    if (jobs.length > 0) await this.#boss.insert(queueName, jobs, { db: bossDb(on) })
  }

  async replace(on: SqlRunner, data: WorkData, options: OfferOptions = {}): Promise<boolean> {
    const { singletonKey, priority } = asSent(data, options)
    const startAfter = options.delaySeconds ?? 0
    const { updated } = await this.#boss.update(queueName, data, {
      db: bossDb(on),
      ...{ singletonKey, priority, startAfter },
    })
    return updated > 0
  }

  async holders(on: SqlRunner, keys: readonly string[]): Promise<Holder[]> {
    // As pg-boss finds jobs, but for many keys at once. The expressions match its unique index.
    const { rows } = await on.query(
      `select id, data, state = 'active' as "isActive" from ${schema}.job
       where name = $1 and coalesce(singleton_key, '') = any($2::text[]) and state <= 'active' and policy = 'exclusive'`,
      [queueName, keys],
    )
    return rows as Holder[]
  }

  isHeld(keyExpression: string): string {
    return `exists (
      select from ${schema}.job where name = '${queueName}' and coalesce(singleton_key, '') = ${keyExpression}
        and state <= 'active' and policy = 'exclusive')`
  }

  async drop(on: SqlRunner, id: string): Promise<void> {
    await this.#boss.deleteJob(queueName, id, { db: bossDb(on) })
  }

  async take(
    limit: number,
    { unknownRooftops = [], minPriority }: TakeOptions = {},
  ): Promise<WorkItem[]> {
    const jobs = await this.#boss.fetch<WorkData>(queueName, {
      batchSize: limit,
      ...(unknownRooftops.length > 0 ? { ignoreGroups: [...unknownRooftops] } : {}),
      ...(minPriority === undefined ? {} : { minPriority }),
    })
    return jobs.map((job) => ({ id: job.id, attempt: job.retryCount, data: job.data }))
  }

  async touch(items: readonly WorkItem[]): Promise<void> {
    if (items.length > 0) await this.#boss.touch(queueName, items.map(asAttempt))
  }

  async complete(on: SqlRunner, item: WorkItem): Promise<void> {
    const done = (await this.#boss.complete(queueName, asAttempt(item), null, {
      db: bossDb(on),
    })) as { affected?: number }
    if (done.affected === 1) return
    throw new FencedError(
      `Work ${queueKey(item.data)} was taken over by another worker; nothing was written.`,
    )
  }

  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false })
  }
}

/** The options of a job. Its group is the rooftop, so that a process can ignore rooftops that it does not know. */
function asSent(data: WorkData, { delaySeconds, priority = 0 }: OfferOptions) {
  return {
    singletonKey: queueKey(data),
    priority,
    group: { id: data.rooftopUid },
    ...(delaySeconds ? { startAfter: delaySeconds } : {}),
  }
}

function asAttempt(item: WorkItem): { id: string; retryCount: number } {
  return { id: item.id, retryCount: item.attempt }
}
