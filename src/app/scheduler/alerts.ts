import type { Context } from '../../context.ts'
import { scrubber } from '../../log.ts'
import { registerInboxes } from '../../stock/folders/file-records.ts'
import { listInboxes } from '../../stock/folders/inbox.ts'
import { inboxProblems, readInboxStatuses } from '../../stock/folders/inbox-status.ts'
import { allStreams } from '../../streams/all.ts'
import { movedTexts, readMovedNames } from '../../sync/explain/moved-fields.ts'
import { readStatus } from '../../sync/explain/status.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { readSource, registerSource } from '../../warehouse/db/run-source.ts'
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
import {
  jobProblems,
  objectiveProblems,
  type Problems,
  readFailed,
  readWaiting,
} from './alert-problems.ts'
import { allRecipients, keyPage, keySeverity, listRecipients, wants } from './alert-routes.ts'
import { readJobStatuses } from './job-status.ts'
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
    const problems = jobProblems(statuses, failed, await readWaiting(db))
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
        ? `not tried again after ${maxAttempts} attempts: correct it, then run "forecourt alerts test ${name}"`
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
