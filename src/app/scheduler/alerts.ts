import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { shortKey } from '../../api/sources/key-advice.ts'
import type { Context } from '../../context.ts'
import { scrubber } from '../../log.ts'
import { registerInboxes } from '../../stock/folders/file-records.ts'
import { listInboxes } from '../../stock/folders/inbox.ts'
import { inboxProblems, readInboxStatuses } from '../../stock/folders/inbox-status.ts'
import { allStreams } from '../../streams/all.ts'
import { type MovedText, movedTexts, readMovedNames } from '../../sync/explain/moved-fields.ts'
import {
  mainReasons,
  type Reason,
  readStatus,
  type WarehouseStatus,
} from '../../sync/explain/status.ts'
import { causeWords, withTotal } from '../../sync/run/cause-words.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { eachText, firstText, listText } from '../../values/text.ts'
import { isOfConfig, readSource, registerSource } from '../../warehouse/db/run-source.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { alertTargets } from '../config/alerts.ts'
import { type Config, listSecrets } from '../config/read.ts'
import type { AlertMessage } from './alert-message.ts'
import {
  claimAttempt,
  type DueMessage,
  dueMessages,
  isObjectiveDue,
  maxAttempts,
  queueEnds,
  queueRaised,
  recordFailure,
  recordSent,
  type Sending,
  saveProblems,
  takeOverAlerts,
} from './alert-outbox.ts'
import { postAlert } from './alert-post.ts'
import { allRecipients, keyPage, keySeverity, listRecipients, wants } from './alert-routes.ts'
import { alertCure } from './alert-status.ts'
import { type JobStatus, readJobStatuses } from './job-status.ts'
import type { PlannedJob } from './load-jobs.ts'

/** The command that shows more. */
export const statusCommand = 'forecourt status'

/** What alerts use of the program. */
type AlertContext = Pick<Context, 'config' | 'db' | 'pool' | 'log'>

/**
 * Sends every lasting problem to the receivers of the config (alerts): once when it is raised, and once when it is over. A problem
 * lasts if a check still finds it `afterMinutes` after the first one that did. Any process may call this; each message is sent
 * by one.
 */
export class Alerts {
  readonly #context: AlertContext
  readonly #jobs: readonly PlannedJob[]
  readonly #afterMinutes: number
  readonly #isOn: boolean
  /** The services whose problems it reports; null: not read yet. */
  #sourceId: number | null = null

  constructor(
    context: AlertContext,
    jobs: readonly PlannedJob[],
    afterMinutes: number = context.config.alerts.afterMinutes,
  ) {
    this.#context = context
    this.#jobs = jobs
    this.#afterMinutes = afterMinutes
    this.#isOn = alertTargets(context.config.alerts).length > 0
  }

  /** Reports jobs that failed or are late, runs without a worker, and objectives whose second check is due. Cheap, so it
   *  runs at every sweep. */
  async reportJobs(): Promise<void> {
    if (!this.#isOn) return
    const { config, db } = this.#context
    const statuses = await readJobStatuses(db, config, this.#jobs)
    const failed = await readFailed(db, config, this.#jobs)
    const problems = jobProblems(statuses, failed, await readWaiting(db, config))
    await this.#report('job/', problems)
    await this.reportInboxes()
    if (await isObjectiveDue(db, await this.#sending())) await this.reportObjectives()
  }

  /** Reports late stock lists, and files and drop folders that need a person. */
  async reportInboxes(): Promise<void> {
    const { config, db } = this.#context
    if (!this.#isOn) return
    await registerInboxes(db, listInboxes(config))
    const raised = inboxProblems(await readInboxStatuses(db, config), config)
    await this.#report('inbox/', { raised, openKeys: new Set(raised.map(({ key }) => key)) })
  }

  /** Reports streams that miss an objective, or whose verification failed; called after every job, which may have changed them. */
  async reportObjectives(): Promise<void> {
    const { config, db } = this.#context
    if (!this.#isOn) return
    const rooftops = await findRooftops(db, config.rooftops)
    const status = await readStatus(db, allStreams, rooftops, config)
    const names = await readMovedNames(db, allStreams, config)
    await this.#report('objective/', objectiveProblems(status.rooftops, movedTexts(names)))
  }

  async #report(kind: string, problems: Problems): Promise<void> {
    const { db, config } = this.#context
    const sourceId = await this.#findSource()
    const hide = scrubber(listSecrets(config))
    const raised = problems.raised.map(({ key, what }) => ({
      key: key.slice(0, maxKeyLength),
      what: hide(what).slice(0, 1000),
    }))
    const open = [...problems.openKeys].map((key) => key.slice(0, maxKeyLength))
    await saveProblems(db, { kind, sourceId }, raised, open)
    const targets = alertTargets(config.alerts)
    const messages = raised.flatMap(({ key }) => {
      const severity = keySeverity(key)
      const receivers = targets.filter((target) => wants(target, severity))
      return receivers.flatMap((target) =>
        listRecipients(target).map((recipient) => ({
          ...{ target: target.name, recipient, key, severity },
        })),
      )
    })
    await queueRaised(db, sourceId, messages)
    await queueEnds(db, await this.#sending())
    await this.#deliver([kind])
  }

  async #sending(): Promise<Sending> {
    const { config } = this.#context
    const sourceId = await this.#findSource()
    return { ...allRecipients(config.alerts), sourceId, afterMinutes: this.#afterMinutes }
  }

  async #findSource(): Promise<number> {
    if (this.#sourceId !== null) return this.#sourceId
    const { config, db } = this.#context
    const sourceId = await registerSource(db, readSource(config))
    await takeOverAlerts(db, sourceId)
    this.#sourceId = sourceId
    return sourceId
  }

  async #deliver(kinds: readonly string[]): Promise<void> {
    const due = await dueMessages(this.#context.db, await this.#sending(), kinds)
    const byRecipient = Map.groupBy(due, ({ target, recipient }) => `${target} ${recipient}`)
    await Promise.all([...byRecipient.values()].map((messages) => this.#deliverTo(messages)))
  }

  /** The messages to one receiver; the first that fails ends it, as the others would fail too. */
  async #deliverTo(messages: readonly DueMessage[]): Promise<void> {
    const { db, config, log } = this.#context
    const [{ target: name, recipient }] = messages as [DueMessage]
    const target = alertTargets(config.alerts).find((one) => one.name === name)!
    const destination = { target, recipient, smtp: config.alerts.smtp }
    for (const due of messages) {
      // Before it is sent: no other process sends it then, and one that dies here causes no endless repeats.
      if (!(await claimAttempt(db, due))) return
      const failure = await postAlert(destination, alertMessage(due, config), due.id)
      if (failure === null) {
        await recordSent(db, due)
        continue
      }
      await recordFailure(db, due.id, failure)
      const isLast = due.attempts + 1 >= maxAttempts
      const next = isLast
        ? `not tried again after ${maxAttempts} attempts. ${alertCure(name)}`
        : 'will be tried again'
      const about = { alertKey: due.key, target: name }
      log[isLast ? 'error' : 'warn'](about, `alerts: ${name} ${failure.reason}; ${next}`)
      return
    }
  }
}

/** Characters of `ops.alert.alert_key`. */
const maxKeyLength = 120

function alertMessage(due: DueMessage, { console }: Config): AlertMessage {
  const { key, state, severity, what, since, until } = due
  return {
    ...{ source: 'forecourt', key, state, severity, what },
    since: since.toISOString(),
    ...(until === null ? {} : { until: until.toISOString() }),
    ...(console === null ? {} : { url: `${console.publicUrl}/console${keyPage(key)}` }),
    look: statusCommand,
  }
}

/** The problems to raise, one per cause, and the keys of all causes that still apply, even those that another one explains. */
interface Problems {
  readonly raised: readonly { readonly key: string; readonly what: string }[]
  readonly openKeys: ReadonlySet<string>
}

/** A job whose newest finished run failed. */
interface FailedJob {
  readonly name: string
  readonly error: string | null
  /** The job failed in streams, or as streams did, whose objectives report each cause once. */
  readonly isExplained: boolean
}

/** Jobs whose newest finished run failed. A run in progress does not count, as its result is not known, nor does one that a scheduler
 *  began if the job is switched off: no other one follows it. */
async function readFailed(
  db: Db,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
  jobs: readonly PlannedJob[],
): Promise<FailedJob[]> {
  const { rows } = await sql<FailedJob>`
    select name, error, exists (
       select from ops.run_stream as part join ops.run using (run_id)
       where run_id = any(run_ids) and part.status in ('failed', 'parked') and arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
     ) or exists (select from core.stream_status where last_status = 'failed' and last_error = newest.error) as "isExplained"
     from unnest(${jobs.map(({ name }) => name)}::text[], ${jobs.map(({ disabledReason: off }) => off === null)}::boolean[]) as job (name, is_on)
     cross join lateral (
       select status, error, run_ids, cause from ops.job_fire
       where job_name = name and status in ('ok', 'partial', 'failed', 'died') and ${isOfConfig('job_fire.source_id', config)} order by fire_id desc limit 1) as newest
     where status in ('failed', 'died') and (is_on or cause = 'manual')`.execute(db)
  return rows
}

/** Runs that are left to workers of this config and that none takes, as `run 7 (backfill)`. */
async function readWaiting(
  db: Db,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
): Promise<string[]> {
  const { rows } = await sql<{ run: string }>`
    select format('run %s (%s)', run_id, command) as run from ops.run
    where status = 'running' and is_detached and heartbeat_at < now() - interval '1 minute' and ${isOfConfig('run.source_id', config)}
    order by run_id`.execute(db)
  return rows.map(({ run }) => run)
}

/** Jobs that failed or are late, without those whose failure the objectives of their streams report, and runs without a worker. */
export function jobProblems(
  jobs: Readonly<Record<string, JobStatus>>,
  failed: readonly FailedJob[],
  waiting: readonly string[],
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
      what: `${list(late.map(([name]) => name))} late: ${eachText(late.map(([name, { error }]) => [name, error ?? '']))}`,
    })
  if (waiting.length > 0)
    raised.push({
      key: 'job/worker',
      what: `${list(waiting)} ${waiting.length === 1 ? 'waits' : 'wait'}: no worker is alive. Start one with "forecourt worker".`,
    })
  return { raised, openKeys: new Set(raised.map(({ key }) => key)) }
}

interface Miss extends Pick<Reason, 'cause' | 'text'> {
  readonly rooftop: string
  readonly stream: string
  readonly key: string
}

/** Streams that miss an objective, and fields that moved. Only the main reasons of a stream are raised. */
export function objectiveProblems(
  rooftops: WarehouseStatus['rooftops'],
  moved: readonly MovedText[] = [],
): Problems {
  const all = Object.entries(rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, health]) => ({ uid, name, stream, ...health })),
  )
  const listMisses = (choose: typeof mainReasons) =>
    all.flatMap(({ uid, name, stream, reasons }) =>
      // A stream that was never loaded is not a problem yet.
      choose(reasons.filter(({ cause }) => cause !== 'never')).map((reason): Miss => {
        return { ...reason, rooftop: name, stream, key: reasonKey(reason, uid) }
      }),
    )
  const main = Map.groupBy(listMisses(mainReasons), ({ key }) => key)
  const raised = [...main].map(([key, group]) => ({
    key,
    what: `${list(group.map(({ stream }) => stream))} of ${list(group.map(({ rooftop }) => rooftop))}: ${whatOfAll(group)}`,
  }))
  if (moved.length > 0)
    raised.push({
      key: 'objective/names',
      what: moved.map(({ what, why, cure }) => `${what}: ${listText(why, 3)}. ${cure}`).join(' '),
    })
  const openKeys = new Set(
    [...listMisses((reasons) => [...reasons]), ...raised].map(({ key }) => key),
  )
  // While a run is active it may still fix these, so they stay open.
  if (all.some(({ isAtWork }) => isAtWork))
    for (const cause of ['late', 'gaps']) openKeys.add(`objective/${cause}`)
  return { raised, openKeys }
}

/** Failures with the same words have one text; the spans and numbers of other reasons are those of a stream of a rooftop. */
function whatOfAll(group: readonly Miss[]): string {
  const { cause } = group[0]!
  return cause === 'failed' || cause === 'quarantine'
    ? withTotal(group.map(({ text }) => text))
    : eachText(group.map(({ rooftop, text }) => [rooftop, text]))
}

/** The cause of a reason. A refused key is one cause; other failures differ by their words. */
function reasonKey({ cause, text, key }: Reason, uid: string): string {
  if (cause !== 'failed') return `objective/${cause}`
  if (key !== undefined) return `objective/key/${shortKey(key)}`
  return `objective/failed/${digest(text.replaceAll(uid, ''))}`
}

function digest(text: string): string {
  return hash('sha256', causeWords(text)).slice(0, 12)
}

function list(names: readonly string[]): string {
  return firstText([...new Set(names)], 5)
}
