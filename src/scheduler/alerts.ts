import { createHash } from 'node:crypto'
import type pg from 'pg'
import { type Config, secretsOf } from '../config/read.ts'
import type { Context } from '../context.ts'
import { scrubber } from '../log.ts'
import { causeWords } from '../pipeline/cause-words.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { type Reason, readStatus, type WarehouseStatus } from '../pipeline/status.ts'
import { registerInboxes } from '../stock/inbox/file-records.ts'
import { inboxesOf } from '../stock/inbox/inbox.ts'
import { inboxProblems, readInboxStatuses } from '../stock/inbox/inbox-status.ts'
import { allStreams } from '../streams/all.ts'
import { type AlertMessage, postAlert } from './alert-post.ts'
import type { PlannedJob } from './load-jobs.ts'
import { type JobStatus, readJobStatuses } from './job-status.ts'
import { lockSql } from '../db/locks.ts'

/** Delivery attempts per message. The pauses are 1, 3, 5 … minutes, so the last attempt is 81 minutes after the first. */
const maxAttempts = 10
const sinceFirstTry = `make_interval(mins => attempts * attempts)`
const look = 'forecourt status'

/** What alerts use of the program. */
export type AlertContext = Pick<Context, 'config' | 'db' | 'pool' | 'log'>

/**
 * Sends every lasting problem to alerts.url, if it is set: once when it is raised, and once when it is over. A problem lasts if a
 * check still finds it `afterMinutes` after the first one that did. Any process may call this; only one delivers.
 */
export class Alerts {
  readonly #context: AlertContext
  readonly #jobs: readonly PlannedJob[]
  readonly #afterMinutes: number

  constructor(
    context: AlertContext,
    jobs: readonly PlannedJob[],
    afterMinutes: number = context.config.alerts.afterMinutes,
  ) {
    this.#context = context
    this.#jobs = jobs
    this.#afterMinutes = afterMinutes
  }

  /** Reports jobs that failed or are late, and objectives whose second check is due. Cheap, so it runs at every sweep. */
  async reportJobs(): Promise<void> {
    const { config, db, pool } = this.#context
    if (config.alerts.url === null) return
    const statuses = await readJobStatuses(db, this.#jobs)
    await this.#report('job/', jobProblems(statuses, await readFailed(pool, this.#jobs)))
    await this.reportInboxes()
    if (await this.#isSecondCheckDue()) await this.reportObjectives()
  }

  /** Reports late stock lists, and files and drop folders that need a person. */
  async reportInboxes(): Promise<void> {
    const { config, pool } = this.#context
    if (config.alerts.url === null || config.stock.inbox.length === 0) return
    await registerInboxes(pool, inboxesOf(config))
    const raised = inboxProblems(await readInboxStatuses(pool, config), config)
    await this.#report('inbox/', { raised, openKeys: new Set(raised.map(({ key }) => key)) })
  }

  /** Reports streams that miss an objective; called after every job, which may have changed them. */
  async reportObjectives(): Promise<void> {
    const { config, db } = this.#context
    if (config.alerts.url === null) return
    const rooftops = await findRooftops(db, config.rooftops)
    const status = await readStatus(db, allStreams, rooftops, config)
    await this.#report('objective/', objectiveProblems(status.rooftops, config.keys))
  }

  async #isSecondCheckDue(): Promise<boolean> {
    const { rows } = await this.#context.pool.query<{ due: boolean }>(
      `select exists (select from ops.alert where starts_with(alert_key, 'objective/') and told_at is null and resolved_at is null
         and attempts < $1 and raised_at + ${sinceFirstTry} <= now() - make_interval(secs => $2::float8 * 60)) as due`,
      [maxAttempts, this.#afterMinutes],
    )
    return rows[0]!.due
  }

  async #report(prefix: string, { raised, openKeys }: Problems): Promise<void> {
    const { pool, config } = this.#context
    const hide = scrubber(secretsOf(config))
    const clean = raised.map(({ key, what }) => ({
      key: key.slice(0, 120),
      what: hide(what).slice(0, 1000),
    }))
    await saveProblems(pool, prefix, clean, [...openKeys])
    await this.#deliver(prefix)
  }

  /** Delivers from one process at a time; when it dies, its session's lock is released. */
  async #deliver(prefix: string): Promise<void> {
    const { pool, log, config } = this.#context
    const client = await pool.connect()
    try {
      const { rows } = await client.query(`select ${lockSql.trySession('alert')} as free`)
      if (!rows[0].free) return
      try {
        for (const { alertId, ...message } of await undelivered(
          client,
          prefix,
          this.#afterMinutes,
        )) {
          const arrived = await postAlert(config.alerts, message, log)
          await recordDelivery(client, alertId, message.state, arrived)
        }
      } finally {
        await client.query(`select ${lockSql.unlockSession('alert')}`)
      }
    } finally {
      client.release()
    }
  }
}

/** Jobs whose newest finished run failed. A run in progress does not count, as its result is not known. */
async function readFailed(pool: pg.Pool, jobs: readonly PlannedJob[]): Promise<FailedJob[]> {
  const { rows } = await pool.query<FailedJob>(
    `select name, error, exists (
       select from ops.run_stream as part join ops.run using (run_id)
       where run_id = any(run_ids) and part.status in ('failed', 'parked') and arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
     ) or exists (select from core.stream_status where last_status = 'failed' and last_error = newest.error) as "isExplained"
     from unnest($1::text[]) as name
     cross join lateral (
       select status, error, run_ids from ops.job_fire
       where job_name = name and status in ('ok', 'partial', 'failed', 'died') order by fire_id desc limit 1) as newest
     where status in ('failed', 'died')`,
    [jobs.map(({ name }) => name)],
  )
  return rows
}

/** Opens alerts for new problems, and resolves those of the prefix that are over. Updates the text of alerts not sent yet. */
async function saveProblems(
  pool: pg.Pool,
  prefix: string,
  problems: readonly Problem[],
  openKeys: readonly string[],
): Promise<void> {
  await pool.query(
    `insert into ops.alert as open (alert_key, detail) select * from unnest($1::text[], $2::text[])
     on conflict (alert_key) where resolved_at is null do update set detail = excluded.detail
     where open.told_at is null and open.detail <> excluded.detail`,
    [problems.map(({ key }) => key), problems.map(({ what }) => what)],
  )
  await pool.query(
    `update ops.alert set resolved_at = now(), attempts = 0
     where resolved_at is null and starts_with(alert_key, $1) and alert_key <> all($2::text[])`,
    [prefix, openKeys],
  )
}

/** Alerts to send: all that are over, but new ones of this prefix only, since a check has just confirmed those. */
async function undelivered(
  client: pg.PoolClient,
  prefix: string,
  afterMinutes: number,
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
     where attempts < $1 and (told_at is null and resolved_at is null and starts_with(alert_key, $2)
         and raised_at + ${sinceFirstTry} <= now() - make_interval(secs => $3::float8 * 60)
       or told_at is not null and resolved_at + ${sinceFirstTry} <= now() and resolution_told_at is null)
     order by alert_id limit 20`,
    [maxAttempts, prefix, afterMinutes],
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

async function recordDelivery(
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

/** A problem that people should know about until it is over. */
interface Problem {
  readonly key: string
  readonly what: string
}

/** The problems to raise, one per cause, and the keys of all causes that still apply, even those that another one explains. */
interface Problems {
  readonly raised: readonly Problem[]
  readonly openKeys: ReadonlySet<string>
}

/** A job whose newest finished run failed. */
interface FailedJob {
  readonly name: string
  readonly error: string | null
  /** The job failed in streams, or as streams did, whose objectives report each cause once. */
  readonly isExplained: boolean
}

/** Jobs that failed or are late, without those whose failure the objectives of their streams report. */
function jobProblems(
  jobs: Readonly<Record<string, JobStatus>>,
  failed: readonly FailedJob[],
): Problems {
  const explained = new Set(failed.flatMap((job) => (job.isExplained ? [job.name] : [])))
  const unexplained = failed.filter(({ name }) => !explained.has(name))
  const byError = Map.groupBy(unexplained, ({ error }) => `job/failed/${digest(error ?? '')}`)
  const late = Object.entries(jobs).filter(
    ([name, { lateSince }]) => lateSince !== undefined && !explained.has(name),
  )
  const raised = [...byError].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ name }) => name))} failed: ${group[0]!.error ?? 'its process died'}`,
  }))
  if (late.length > 0)
    raised.push({
      key: 'job/late',
      what: `${list(late.map(([name]) => name))} late: ${late[0]![1].error ?? ''}`,
    })
  return { raised, openKeys: new Set(raised.map(({ key }) => key)) }
}

interface Miss {
  readonly rooftop: string
  readonly stream: string
  readonly key: string
  readonly text: string
}

/** Streams that miss an objective. Only the first reason of each is raised, since it may cause the others. */
function objectiveProblems(rooftops: WarehouseStatus['rooftops'], keys: Config['keys']): Problems {
  const all = Object.entries(rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, health]) => ({ uid, name, stream, ...health })),
  )
  const misses = all.map(({ uid, name, stream, reasons }) =>
    reasons
      .filter(({ cause }) => cause !== 'never')
      .map((reason): Miss => {
        return { rooftop: name, stream, key: keyOf(reason, uid, keys), text: reason.text }
      }),
  )
  const first = misses.flatMap(([miss]) => miss ?? [])
  const raised = [...Map.groupBy(first, ({ key }) => key)].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ stream }) => stream))} of ${list(group.map(({ rooftop }) => rooftop))}: ${group[0]!.text}`,
  }))
  const openKeys = new Set(misses.flat().map(({ key }) => key))
  // While a run is active it may still fix these, so they stay open.
  if (all.some(({ isAtWork }) => isAtWork))
    for (const cause of ['late', 'gaps']) openKeys.add(`objective/${cause}`)
  return { raised, openKeys }
}

/** The cause of a reason. A refused key is one cause, found by the advice in every such message; other failures differ by their words. */
function keyOf({ cause, text }: Reason, uid: string, keys: Config['keys']): string {
  if (cause !== 'failed') return `objective/${cause}`
  const words = text.replaceAll(uid, '')
  const key = Object.keys(keys).find((name) => isAboutKey(words, name))
  return key === undefined ? `objective/failed/${digest(words)}` : `objective/key/${key}`
}

/** Whether a text advises about this key; key group-au must not match key group-au-2. */
function isAboutKey(text: string, key: string): boolean {
  const after = text.split(`the value of key ${key}`).slice(1)
  return after.some((rest) => !/^[\w-]/.test(rest))
}

function digest(text: string): string {
  return createHash('sha256').update(causeWords(text)).digest('hex').slice(0, 12)
}

const maxNamed = 5

function list(names: readonly string[]): string {
  const each = [...new Set(names)]
  const shown = each.slice(0, maxNamed).join(', ')
  return each.length > maxNamed ? `${shown} and ${each.length - maxNamed} more` : shown
}
