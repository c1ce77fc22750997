import type pg from 'pg'
import { secretsOf } from '../config.ts'
import type { Context } from '../context.ts'
import { scrubber } from '../log.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { readStatus } from '../pipeline/status.ts'
import { allStreams } from '../streams/all.ts'
import { type AlertMessage, postAlert } from './alert-post.ts'
import type { PlannedJob } from './catalogue.ts'
import { readJobs } from './standing.ts'
import { lockClass } from '../values/lock-classes.ts'

/** Something that people should know of until it is over. */
export interface Trouble {
  readonly key: string
  readonly what: string
}

/** Deliveries of one message that are tried, a look at a time. */
const mostAttempts = 10
const look = 'forecourt status'

/** Tells alerts.url, where there is one, of every trouble once, and once more when it is over. Any process may; one does. */
export class Alerts {
  readonly #context: Context
  readonly #jobs: readonly PlannedJob[]

  constructor(context: Context, jobs: readonly PlannedJob[]) {
    this.#context = context
    this.#jobs = jobs
  }

  /** Jobs that failed or are late. Cheap: for every sweep. */
  async tellOfJobs(): Promise<void> {
    if (this.#context.config.alerts.url === null) return
    const standings = Object.entries(await readJobs(this.#context.db, this.#jobs))
    const troubles = standings.flatMap(([name, { last, lateSince, error = '' }]) => {
      const hasFailed = last?.status === 'failed' || last?.status === 'died'
      const failed = { key: `job/${name}/failed`, what: `${name} failed: ${last?.error ?? ''}` }
      const late = { key: `job/${name}/late`, what: `${name} is late: ${error}` }
      return [...(hasFailed ? [failed] : []), ...(lateSince === undefined ? [] : [late])]
    })
    await this.#tell('job/', troubles)
  }

  /** Streams that miss an objective: after a job, which may have changed that. */
  async tellOfObjectives(): Promise<void> {
    const { config, db } = this.#context
    if (config.alerts.url === null) return
    const rooftops = await findRooftops(db, config.rooftops)
    const standing = await readStatus(db, allStreams, rooftops, config)
    const troubles = Object.entries(standing.rooftops).flatMap(([uid, { name, streams }]) =>
      Object.entries(streams)
        .filter(([, { status }]) => status !== 'ok' && status !== 'never')
        .map(([stream, { status, error = '' }]) => ({
          key: `objective/${uid}/${stream}`,
          what: `${stream} of ${name} is ${status}: ${error}`,
        })),
    )
    await this.#tell('objective/', troubles)
  }

  async #tell(prefix: string, troubles: readonly Trouble[]): Promise<void> {
    const { pool, config } = this.#context
    const hide = scrubber(secretsOf(config))
    const clean = troubles.map(({ key, what }) => ({
      key: key.slice(0, 120),
      what: hide(what).slice(0, 1000),
    }))
    await noteTroubles(pool, prefix, clean)
    await this.#deliver()
  }

  /** One process delivers at a time; when it dies, its session's lock is gone with it. */
  async #deliver(): Promise<void> {
    const { pool, log, config } = this.#context
    const client = await pool.connect()
    try {
      const { rows } = await client.query('select pg_try_advisory_lock($1, 0) as free', [
        lockClass.alert,
      ])
      if (!rows[0].free) return
      try {
        for (const { alertId, ...message } of await undelivered(client)) {
          const arrived = await postAlert(config.alerts.url!, message, log)
          await noteDelivery(client, alertId, message.state, arrived)
        }
      } finally {
        await client.query('select pg_advisory_unlock($1, 0)', [lockClass.alert])
      }
    } finally {
      client.release()
    }
  }
}

/** Opens an alert for what is new, and resolves those of the prefix that are over. */
async function noteTroubles(
  pool: pg.Pool,
  prefix: string,
  troubles: readonly Trouble[],
): Promise<void> {
  const keys = troubles.map(({ key }) => key)
  await pool.query(
    `insert into ops.alert (alert_key, detail) select * from unnest($1::text[], $2::text[])
     on conflict (alert_key) where resolved_at is null do nothing`,
    [keys, troubles.map(({ what }) => what)],
  )
  await pool.query(
    `update ops.alert set resolved_at = now(), attempts = 0
     where resolved_at is null and starts_with(alert_key, $1) and alert_key <> all($2::text[])`,
    [prefix, keys],
  )
}

async function undelivered(
  client: pg.PoolClient,
): Promise<(AlertMessage & { readonly alertId: number })[]> {
  const { rows } = await client.query<{
    alertId: number
    key: string
    what: string
    since: Date
    until: Date | null
  }>(
    `select alert_id as "alertId", alert_key as key, detail as what, raised_at as since,
       case when told_at is not null then resolved_at end as until
     from ops.alert
     where attempts < $1 and (told_at is null and resolved_at is null
       or told_at is not null and resolved_at is not null and resolution_told_at is null)
     order by alert_id limit 20`,
    [mostAttempts],
  )
  return rows.map(({ since, until, ...row }) => ({
    ...row,
    source: 'forecourt',
    state: until === null ? 'raised' : 'resolved',
    since: since.toISOString(),
    ...(until === null ? {} : { until: until.toISOString() }),
    look,
  }))
}

async function noteDelivery(
  client: pg.PoolClient,
  alertId: number,
  state: AlertMessage['state'],
  arrived: boolean,
): Promise<void> {
  const column = state === 'raised' ? 'told_at' : 'resolution_told_at'
  await client.query(
    arrived
      ? `update ops.alert set ${column} = now(), attempts = 0 where alert_id = $1`
      : 'update ops.alert set attempts = attempts + 1 where alert_id = $1',
    [alertId],
  )
}
