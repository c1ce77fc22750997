import type pg from 'pg'
import { type Db as BossDb, PgBoss } from 'pg-boss'
import { FencedError } from '../errors.ts'
import {
  type Holder,
  type Queue,
  type SqlRunner,
  type WorkData,
  type WorkItem,
  workKey,
} from './queue.ts'

const queueName = 'rooftop.sync'
const schema = 'pgboss'
/** A worker that is silent for so long has lost its work; the least that pg-boss allows. */
export const heartbeatSeconds = 10

function bossDb(on: SqlRunner): BossDb {
  return { executeSql: async (text, values) => await on.query(text, values) }
}

/** Makes or upgrades the engine's tables. Needs DDL rights; `migrate` calls it. */
export async function installQueue(pool: pg.Pool): Promise<void> {
  const boss = new PgBoss({ db: bossDb(pool), schema, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  const options = {
    policy: 'exclusive',
    heartbeatSeconds,
    expireInSeconds: 3600,
    // A killed worker's job is claimed again for as long as it takes; what gives up on a slice is the pipeline.
    retryLimit: 1_000_000,
    deleteAfterSeconds: 3600,
    retentionSeconds: 14 * 86_400,
  } as const
  await boss.createQueue(queueName, options)
  await boss.stop({ graceful: false, close: false })
}

/** Opens the engine on an installed warehouse. `onError` gets what its background monitor trips over. */
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

  async offer(
    on: SqlRunner,
    data: WorkData,
    options: { delaySeconds?: number; priority?: number } = {},
  ): Promise<Holder | null> {
    const db = bossDb(on)
    const singletonKey = workKey(data)
    const id = await this.#boss.send(queueName, data, {
      db,
      singletonKey,
      priority: options.priority ?? 0,
      ...(options.delaySeconds ? { startAfter: options.delaySeconds } : {}),
    })
    if (id !== null) return null
    const held = await this.#boss.findJobs<WorkData>(queueName, { key: singletonKey, db })
    const live = held.find((job) => ['created', 'retry', 'active'].includes(job.state))
    // Ended between the two statements: free now.
    return live ? { id: live.id, data: live.data } : await this.offer(on, data, options)
  }

  async drop(on: SqlRunner, id: string): Promise<void> {
    await this.#boss.deleteJob(queueName, id, { db: bossDb(on) })
  }

  async take(limit: number): Promise<WorkItem[]> {
    const jobs = await this.#boss.fetch<WorkData>(queueName, { batchSize: limit })
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
      `Work ${workKey(item.data)} was taken over by another worker; nothing was written.`,
    )
  }

  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false })
  }
}

function asAttempt(item: WorkItem): { id: string; retryCount: number } {
  return { id: item.id, retryCount: item.attempt }
}
