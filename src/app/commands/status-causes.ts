import { appraisalKey } from '../../api/sources/key-advice.ts'
import { type InboxStatus, isInboxHealthy, lateText } from '../../stock/folders/inbox-status.ts'
import { type MovedName, movedTexts } from '../../sync/explain/moved-fields.ts'
import {
  mainReasons,
  type Reason,
  type StreamHealth,
  type WarehouseStatus,
} from '../../sync/explain/status.ts'
import { causeWords } from '../../sync/run/cause-words.ts'
import { type KeyState, quotaEnd } from '../../sync/run/key-states.ts'
import { utcText } from '../../values/instant.ts'
import { listText, plural } from '../../values/text.ts'
import type { LinkStatus } from '../../web/links/link-status.ts'
import { keyTitle, refusalWords } from '../../web/morning/key-words.ts'
import type { MissingNames } from '../../web/morning/missing-names.ts'
import type { WebhookStatus } from '../../web/webhook/webhook-status.ts'
import type { Spend } from '../billing/spend.ts'
import type { Config } from '../config/read.ts'
import { type AlertStatus, alertCure, isAlertHealthy } from '../scheduler/alert-status.ts'
import { isJobHealthy, type JobStatus } from '../scheduler/job-status.ts'

/** Everything that `status` knows. */
export interface Status {
  readonly health: WarehouseStatus
  readonly keys: readonly KeyState[]
  readonly names: readonly MovedName[]
  /** A service may lack some, so they miss no objective. */
  readonly missingNames: MissingNames | null
  readonly jobs: Readonly<Record<string, JobStatus>>
  readonly alerts: Readonly<Record<string, AlertStatus>>
  readonly links: LinkStatus
  readonly webhooks: WebhookStatus
  readonly inboxes: Readonly<Record<string, InboxStatus>>
  readonly spend: Readonly<Record<string, Spend>>
}

/** How texts name things. */
export interface Naming {
  readonly config: Config
  readonly label: (uid: string) => string
}

/** Something that is wrong, with its cause and its cure. */
interface Cause {
  readonly what: string
  readonly why: readonly string[]
  readonly cure: string
}

/** What is wrong, each cause once. */
export function findCauses(status: Status, naming: Naming): Cause[] {
  return [
    ...causesOfKeys(status, naming),
    ...causesOfStreams(status, naming),
    ...otherCauses(status, naming),
  ]
}

/** A stream of a rooftop with one reason. */
interface Miss {
  readonly uid: string
  readonly stream: string
  readonly health: StreamHealth
  readonly reason: Reason
}

function listMisses({ health }: Status): Miss[] {
  return Object.entries(health.rooftops).flatMap(([uid, { streams }]) =>
    Object.entries(streams).flatMap(([stream, missHealth]) =>
      mainReasons(missHealth.reasons).map((reason) => ({
        ...{ uid, stream, health: missHealth, reason },
      })),
    ),
  )
}

/** The key whose quota is the cause of a miss: not of what is wrong with stored rows. */
function parkedBy(
  { keys }: Status,
  { config }: Naming,
  { uid, stream, reason: { cause } }: Miss,
): KeyState | null {
  if (cause === 'quarantine' || cause === 'verification' || cause === 'unprovable') return null
  const rooftop = config.rooftops.find((one) => one.uid === uid)
  const keyState = rooftop && keys.find(({ key }) => key === appraisalKey(rooftop.key))
  const isParked = keyState?.parked.some((parked) => parked.stream === stream)
  return isParked ? keyState! : null
}

function causesOfKeys(status: Status, naming: Naming): Cause[] {
  const misses = listMisses(status)
  return status.keys.flatMap((state) => {
    const { key, refusal, parked } = state
    const stopped = misses.filter(({ reason }) => reason.key === key)
    const without = misses.filter((miss) => parkedBy(status, naming, miss) === state)
    const used = parked.filter((one) => without.some(({ stream }) => stream === one.stream))
    const { until, reasons } = quotaEnd(used)
    return [
      ...(refusal === null
        ? []
        : [
            refusalWords(
              { key, refusal },
              stopped.length === 0 ? null : whatAndWhere(stopped, naming),
              naming.config,
            ),
          ]),
      ...(used.length === 0
        ? []
        : [
            {
              what: `${keyTitle(key)}: the daily quota is used up until ${utcText(until)}`,
              why: [`Stops ${whatAndWhere(without, naming)}`, ...reasons],
              cure: 'None is needed: the first run after that time goes on.',
            },
          ]),
    ]
  })
}

/** What a cause is called, and what to do about it; the worst first. */
const causes: Readonly<Record<Reason['cause'], readonly [word: string, cure: string]>> = {
  never: ['never loaded', 'Run "forecourt sync".'],
  failed: ['failed', 'Do what the cause says, then run "forecourt sync".'],
  late: ['late', 'Run "forecourt sync", and let "forecourt schedule" or cron run it every night.'],
  verification: [
    'the last verification found a fault',
    'Run "forecourt verify": it names what differs and what sets it right.',
  ],
  quarantine: [
    'in quarantine',
    'See "forecourt quarantine list". Where it names a wire setting, "forecourt wire learn --stored" finds its path; "forecourt quarantine retry" tries them then, a sync when it lists their window again.',
  ],
  gaps: ['not listed', 'Run "forecourt sync", then "forecourt verify".'],
  unprovable: ['cannot be proved complete', 'Run "forecourt verify": it names the windows.'],
}

const historyCure =
  'No sync reads before sync.start. Run "forecourt backfill --resume" where a backfill was stopped, else the commands that "forecourt verify" prints.'

const maxShown = 3

/** The other reasons, those with one cause together. */
function causesOfStreams(status: Status, naming: Naming): Cause[] {
  const misses = listMisses(status).filter(
    (miss) => miss.reason.key === undefined && parkedBy(status, naming, miss) === null,
  )
  const together = Map.groupBy(misses, ({ uid, reason: { cause, text, needsBackfill } }) =>
    cause === 'failed'
      ? `failed ${causeWords(text.replaceAll(uid, ''))}`
      : `${cause} ${needsBackfill ?? false}`,
  )
  const order = Object.keys(causes)
  return [...together.values()]
    .sort((a, b) => order.indexOf(a[0]!.reason.cause) - order.indexOf(b[0]!.reason.cause))
    .map((sameCause) => {
      const { cause, needsBackfill } = sameCause[0]!.reason
      const count = sameCause.reduce((sum, { health }) => sum + health.quarantined, 0)
      const [word, cure] = causes[cause]
      const records = cause === 'quarantine' ? `${plural(count, 'record')} ` : ''
      return {
        what: `${whatAndWhere(sameCause, naming)}: ${records}${word}`,
        why: whyLines(sameCause, naming),
        cure: needsBackfill ? historyCure : cure,
      }
    })
}

function whyLines(misses: readonly Miss[], { label }: Naming): string[] {
  const { cause, text } = misses[0]!.reason
  if (cause === 'failed') return [text]
  if (cause === 'late')
    return [
      `${text}; the last good run ended ${oldest(misses.map(({ health }) => health.lastGoodRunAt))}`,
    ]
  if (cause === 'never' || cause === 'quarantine') return []
  const left = misses.length - maxShown
  return [
    ...misses.slice(0, maxShown).map(({ uid, reason }) => `${label(uid)}: ${reason.text}`),
    ...(left > 0 ? [`and ${plural(left, 'more rooftop')}`] : []),
  ]
}

export function oldest(times: readonly (string | null)[]): string {
  const known = times.filter((time) => time !== null).sort()
  return known.length === 0 ? 'never' : utcText(known[0]!)
}

/** `users, evaluations of Northside and Dubai`. */
function whatAndWhere(misses: readonly Miss[], { label }: Naming): string {
  const streams = [...new Set(misses.map(({ stream }) => stream))]
  const rooftops = [...new Set(misses.map(({ uid }) => uid))]
  return `${streams.join(', ')} of ${listText(rooftops.map(label), 5)}`
}

function otherCauses(
  { names: moved, jobs, alerts, inboxes, links }: Status,
  naming: Naming,
): Cause[] {
  const late = Object.entries(jobs).filter(([, job]) => !isJobHealthy(job))
  const names = late.map(([name]) => name)
  return [
    ...movedTexts(moved).map(({ names: fields, what, why, cure }) => {
      const where = listText(
        [...new Set(fields.flatMap(({ rooftops }) => rooftops.map(naming.label)))],
        3,
      )
      return { what: `${what}: ${where}`, why, cure }
    }),
    ...(late.length === 0
      ? []
      : [
          {
            what: `${late.length === 1 ? 'Job' : 'Jobs'} ${listText(names, 5)}: not well`,
            why: late.map(([name, { status, error }]) => `${name}: ${status}: ${error ?? ''}`),
            cure: `Correct the cause; ${listText(
              names.map((name) => `"forecourt run ${name}"`),
              5,
            )} ${late.length === 1 ? 'runs it' : 'run them'} now.`,
          },
        ]),
    ...Object.entries(inboxes).flatMap(([label, inbox]) => {
      if (isInboxHealthy(inbox)) return []
      const [what = '', ...why] = inboxLines({ [label]: inbox })
      // A line that says that a list is late has no advice.
      const cure =
        inbox.problem === null && inbox.failed.length === 0
          ? 'Have the list sent again, and see that "forecourt schedule" or "forecourt stock watch" runs.'
          : 'Do what each line says.'
      return [{ what, why: why.map((line) => line.trim()), cure }]
    }),
    ...Object.entries(alerts).flatMap(([name, alert]) => {
      if (isAlertHealthy(alert)) return []
      const why = alertLines({ [name]: alert })
      return [{ what: `Alerts to ${name} do not arrive`, why, cure: alertCure(name) }]
    }),
    ...(links.status === 'ok'
      ? []
      : [
          {
            what: 'Links to PDFs run out',
            why: [linkText(links, naming.config)],
            cure: 'Run "forecourt links refresh".',
          },
        ]),
  ]
}

export function linkText(
  { inScope, alive, objective, hoursToLive }: LinkStatus,
  { links: { keepAliveDays } }: Config,
): string {
  if (inScope === 0 && keepAliveDays !== null)
    return `Links to PDFs: none to refresh (links.keepAliveDays is ${keepAliveDays})`
  if (inScope === 0) return 'Links to PDFs: none yet'
  return `Links to PDFs: ${alive} of ${inScope} have ${hoursToLive} h to live (objective: ${objective * 100} %)`
}

/** A line for each receiver of alerts that does not get its messages. */
export function alertLines(alerts: Readonly<Record<string, AlertStatus>>): string[] {
  return Object.entries(alerts).flatMap(
    ([name, { status, waiting, notSent, error, lastSentAt }]) => {
      if (status === 'ok' || status === 'never') return []
      const counts = [
        ...(notSent > 0 ? [`${plural(notSent, 'message')} not sent`] : []),
        ...(waiting > 0 ? [`${plural(waiting, 'message')} will be tried again`] : []),
      ]
      const last =
        lastSentAt === null ? 'none has arrived yet' : `the last arrived ${utcText(lastSentAt)}`
      return [`Alerts to ${name}: ${counts.join(', ')}: ${error}; ${last}. ${alertCure(name)}`]
    },
  )
}

/** A line for each drop folder, and what is wrong with it. */
export function inboxLines(inboxes: Readonly<Record<string, InboxStatus>>): string[] {
  return Object.entries(inboxes).flatMap(([label, inbox]) => [
    headLine(label, inbox),
    ...(inbox.problem === null ? [] : [`  ${inbox.problem}`]),
    ...(inbox.lateSince === null ? [] : [`  ${lateText(label, inbox)}`]),
    ...inbox.failed.flatMap(({ file, path, reason, commands }) => [
      `  ${file} needs a person: ${reason.split('\n')[0]}`,
      ...(path === null ? [] : [`    report: ${path}.report.txt`]),
      ...commands.map((command) => `    if the list is right: ${command}`),
    ]),
  ])
}

function headLine(label: string, { status, newestAt, waiting }: InboxStatus): string {
  const newest = newestAt === null ? 'no list yet' : `newest list ${utcText(newestAt)}`
  const names = waiting.slice(0, 5).join(', ')
  const files = waiting.length === 0 ? '' : `; waiting: ${names}${waiting.length > 5 ? ', …' : ''}`
  return `Drop folder ${label}: ${status}, ${newest}${files}`
}
