import { appraisalKey, shortKey } from '../../api/sources/key-advice.ts'
import { type InboxStatus, isInboxHealthy } from '../../stock/folders/inbox-status.ts'
import { type MovedName, movedTexts } from '../../sync/explain/moved-fields.ts'
import {
  isOldProof,
  type Reason,
  type RunningRun,
  type StreamHealth,
  type WarehouseStatus,
} from '../../sync/explain/status.ts'
import { causeWords } from '../../sync/run/cause-words.ts'
import type { KeyState } from '../../sync/run/key-states.ts'
import { utcText } from '../../values/instant.ts'
import { listText, plural } from '../../values/text.ts'
import { otherSource } from '../../warehouse/db/run-source.ts'
import type { LinkStatus } from '../../web/links/link-status.ts'
import { keyTitle, refusalWords } from '../../web/morning/key-words.ts'
import type { WebhookStatus } from '../../web/webhook/webhook-status.ts'
import type { Spend } from '../billing/spend.ts'
import type { Config } from '../config/read.ts'
import { type AlertStatus, isAlertHealthy } from '../scheduler/alert-status.ts'
import { isJobHealthy, type JobStatus } from '../scheduler/job-status.ts'
import { alertLines } from './alert-lines.ts'
import { inboxLines } from './inbox-lines.ts'
import { jobLines } from './jobs-table.ts'
import { waitingCure } from './runs.ts'
import { spendLines } from './spend-lines.ts'
import { table } from './table.ts'
import { webhookLines } from './webhook-lines.ts'
import { outputColumns, wrap } from './wrap.ts'

/** Everything that `status` knows. */
interface Status {
  readonly health: WarehouseStatus
  readonly keys: readonly KeyState[]
  readonly names: readonly MovedName[]
  readonly jobs: Readonly<Record<string, JobStatus>>
  readonly alerts: Readonly<Record<string, AlertStatus>>
  readonly links: LinkStatus
  readonly webhooks: WebhookStatus
  readonly inboxes: Readonly<Record<string, InboxStatus>>
  readonly spend: Readonly<Record<string, Spend>>
}

/** How texts name things. */
interface Naming {
  readonly config: Config
  readonly label: (uid: string) => string
}

/** Something that is wrong, with its cause and its cure. */
interface Wrong {
  readonly what: string
  readonly why: readonly string[]
  readonly cure: string
}

/** A stream of a rooftop with one reason. */
interface Miss {
  readonly uid: string
  readonly stream: string
  readonly health: StreamHealth
  readonly reason: Reason
}

/** The status for a morning: what is wrong first, each cause once, then a line for what is well. `isAll`: also every row. */
export function statusLines(status: Status, naming: Naming, isAll: boolean): string[] {
  const wrong = [
    ...keysWrong(status, naming),
    ...streamsWrong(status, naming),
    ...othersWrong(status, naming),
  ]
  return [
    ...headLines(status, wrong.length),
    ...wrong.flatMap(({ what, why, cure }) => [
      '',
      ...wrap(what, { hang: 2 }),
      ...why.flatMap((text) => wrap(text, { indent: 2 })),
      ...wrap(`Cure: ${cure}`, { indent: 2 }),
    ]),
    ...(wrong.length === 0 ? [] : ['', 'Well:']),
    ...wellLines(status, naming, isAll).flatMap((text) =>
      wrap(text, { indent: wrong.length === 0 ? 0 : 2 }),
    ),
    ...(isAll ? ['', ...allLines(status, naming)] : []),
  ]
}

function headLines({ health }: Status, causes: number): string[] {
  const rooftops = Object.values(health.rooftops)
  const bad = rooftops.filter(({ streams }) =>
    Object.values(streams).some(({ status }) => status !== 'ok'),
  )
  if (causes === 0) return ['All objectives are met.']
  if (bad.length === 0) return [`Not as it should be: ${plural(causes, 'cause')}.`]
  return wrap(
    `Not fresh or not complete: ${bad.length} of ${plural(rooftops.length, 'rooftop')}, ${plural(causes, 'cause')}.`,
  )
}

function listMisses({ health }: Status): Miss[] {
  return Object.entries(health.rooftops).flatMap(([uid, { streams }]) =>
    Object.entries(streams).flatMap(([stream, missHealth]) => {
      const [first, ...others] = missHealth.reasons
      // The first may be the cause of the others, but not of records that did not fit.
      const quarantine = others.filter(({ cause }) => cause === 'quarantine')
      return [...(first === undefined ? [] : [first]), ...quarantine].map((reason) => ({
        ...{ uid, stream, health: missHealth, reason },
      }))
    }),
  )
}

function parkedBy({ keys }: Status, { config }: Naming, { uid, stream }: Miss): KeyState | null {
  const rooftop = config.rooftops.find((one) => one.uid === uid)
  const keyState = rooftop && keys.find(({ key }) => key === appraisalKey(rooftop.key))
  const isParked = keyState?.parked.some((parked) => parked.stream === stream)
  return isParked ? keyState! : null
}

function keysWrong(status: Status, naming: Naming): Wrong[] {
  const misses = listMisses(status)
  return status.keys.flatMap((state) => {
    const { key, refusal, parked } = state
    const stopped = misses.filter(({ reason }) => reason.key === key)
    const without = misses.filter((miss) => parkedBy(status, naming, miss) === state)
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
      ...(parked.length === 0 || without.length === 0
        ? []
        : [
            {
              what: `${keyTitle(key)}: the daily quota is used up until ${utcText(parked[0]!.until)}`,
              why: [`Stops ${whatAndWhere(without, naming)}`, parked[0]!.reason],
              cure: 'None is needed: the first run after that time goes on.',
            },
          ]),
    ]
  })
}

const cures: Readonly<Record<Reason['cause'], string>> = {
  never: 'Run "forecourt sync".',
  failed: 'Do what the cause says, then run "forecourt sync".',
  late: 'Run "forecourt sync", and let "forecourt schedule" or cron run it every night.',
  verification: 'Run "forecourt verify": it names what differs and what sets it right.',
  quarantine:
    'See "forecourt quarantine list"; each sync and "forecourt quarantine retry" try again.',
  gaps: 'Run "forecourt sync", then "forecourt verify".',
  unprovable: 'Run "forecourt verify": it names the windows.',
}

const historyCure =
  'No sync reads before sync.start. Run "forecourt backfill --resume" where a backfill was stopped, else the commands that "forecourt verify" prints.'

const words: Readonly<Record<Reason['cause'], string>> = {
  never: 'never loaded',
  failed: 'failed',
  late: 'late',
  verification: 'the last verification found a fault',
  quarantine: 'records in quarantine',
  gaps: 'not listed',
  unprovable: 'cannot be proved complete',
}

const maxShown = 3

/** The other reasons, those with one cause together. */
function streamsWrong(status: Status, naming: Naming): Wrong[] {
  const misses = listMisses(status).filter(
    (miss) => miss.reason.key === undefined && parkedBy(status, naming, miss) === null,
  )
  const causes = Map.groupBy(misses, ({ uid, reason: { cause, text, needsBackfill } }) =>
    cause === 'failed'
      ? `failed ${causeWords(text.replaceAll(uid, ''))}`
      : `${cause} ${needsBackfill ?? false}`,
  )
  const order = Object.keys(cures)
  return [...causes.values()]
    .sort((a, b) => order.indexOf(a[0]!.reason.cause) - order.indexOf(b[0]!.reason.cause))
    .map((sameCause) => {
      const { cause, needsBackfill } = sameCause[0]!.reason
      const count = sameCause.reduce((sum, { health }) => sum + health.quarantined, 0)
      const word =
        cause === 'quarantine'
          ? plural(count, 'record in quarantine', 'records in quarantine')
          : words[cause]
      return {
        what: `${whatAndWhere(sameCause, naming)}: ${word}`,
        why: whyLines(sameCause, naming),
        cure: needsBackfill ? historyCure : cures[cause],
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

function oldest(times: readonly (string | null)[]): string {
  const known = times.filter((time) => time !== null).sort()
  return known.length === 0 ? 'never' : utcText(known[0]!)
}

/** `users, evaluations of Northside and Dubai`. */
function whatAndWhere(misses: readonly Miss[], { label }: Naming): string {
  const streams = [...new Set(misses.map(({ stream }) => stream))]
  const rooftops = [...new Set(misses.map(({ uid }) => uid))]
  return `${streams.join(', ')} of ${listText(rooftops.map(label), 5)}`
}

function othersWrong(
  { names: moved, jobs, alerts, inboxes, links }: Status,
  naming: Naming,
): Wrong[] {
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
            cure: `Correct the cause; "forecourt run ${names[0]}" runs it now.`,
          },
        ]),
    ...Object.entries(inboxes).flatMap(([label, inbox]) => {
      if (isInboxHealthy(inbox)) return []
      const [what = '', ...why] = inboxLines({ [label]: inbox })
      return [{ what, why: why.map((line) => line.trim()), cure: 'Do what each line says.' }]
    }),
    ...Object.entries(alerts).flatMap(([name, alert]) => {
      if (isAlertHealthy(alert)) return []
      const why = alertLines({ [name]: alert })
      const cure = `Correct it, then run "forecourt alerts test ${name}".`
      return [{ what: `Alerts to ${name} do not arrive`, why, cure }]
    }),
    ...(links.status === 'ok'
      ? []
      : [
          {
            what: 'Links to PDFs run out',
            why: [linkText(links)],
            cure: 'Run "forecourt links refresh".',
          },
        ]),
  ]
}

function linkText({ inScope, alive, objective, hoursToLive }: LinkStatus): string {
  if (inScope === 0) return 'Links to PDFs: none yet'
  return `Links to PDFs: ${alive} of ${inScope} have ${hoursToLive} h to live (objective: ${objective * 100} %)`
}

/** A line for each thing that is well. */
function wellLines(status: Status, { config }: Naming, isAll: boolean): string[] {
  const { health, keys, jobs, links, spend, inboxes } = status
  const all = Object.values(health.rooftops)
  const streams = Object.keys(all[0]?.streams ?? {})
  const open = keys.filter(({ state }) => state === 'open').length
  const limited = keys.filter(({ state }) => state === 'slowed' || state === 'resting')
  const known = Object.entries(jobs).filter(([, { last }]) => last !== null)
  const wellJobs = known.filter(([, job]) => isJobHealthy(job)).length
  return [
    ...streams.flatMap((stream) => {
      const good = all
        .map((one) => one.streams[stream]!)
        .filter(({ status: streamState }) => streamState === 'ok')
      const to = oldest(good.map(({ coveredTo }) => coveredTo))
      const until = `, complete to ${to}${verifiedText(good)}`
      return good.length === 0
        ? []
        : `${stream}: ${good.length} of ${plural(all.length, 'rooftop')} fresh${until}`
    }),
    `Keys: ${[
      `${open} of ${keys.length} open`,
      ...limited.map(({ key, state, blockedUntil, rate }) =>
        state === 'resting'
          ? `${shortKey(key)} rests until ${utcText(blockedUntil!)}, as the service asked`
          : `${shortKey(key)} was slowed to ${rate!.toFixed(1)} requests a second, and rises`,
      ),
    ].join('; ')}`,
    ...(known.length === 0 || isAll ? [] : [`Jobs: ${wellJobs} of ${known.length} well`]),
    ...(links.status === 'ok' ? [linkText(links)] : []),
    ...Object.entries(inboxes).flatMap(([label, inbox]) =>
      isInboxHealthy(inbox) && !isAll ? inboxLines({ [label]: inbox }) : [],
    ),
    ...health.running.map((run) => runningLine(run, config)),
    ...Object.entries(health.rooftops).flatMap(([, { name, zoneChange }]) =>
      zoneChange === null
        ? []
        : [
            `${name}: time zone changed from ${zoneChange.from} to ${zoneChange.to} at ${zoneChange.at}; its local days and sums were calculated again`,
          ],
    ),
    ...Object.entries(spend).flatMap(([budget, figures]) =>
      !isAll && (figures.used > 0 || figures.open.length > 0) ? spendLines(budget, figures) : [],
    ),
  ]
}

/** How old the proof is; nothing for a stream without windows. */
function verifiedText(streams: readonly StreamHealth[]): string {
  const windowed = streams.filter(({ rereads }) => rereads !== undefined)
  if (windowed.length === 0) return ''
  const times = windowed.map(({ verifiedAt }) => verifiedAt)
  if (times.includes(null)) return ', not verified yet: run "forecourt verify"'
  const isOld = times.some((at) => at !== null && isOldProof(at))
  return `, verified at ${oldest(times)}${isOld ? ', more than 2 days ago: run "forecourt verify"' : ''}`
}

function runningLine(run: RunningRun, config: Config): string {
  const { runId, command, lane, startedAt, host, processId, isDetached, isAtWork } = run
  const other = otherSource(run.source, config)
  const line = `Not ended: run ${runId} (${command}), since ${utcText(startedAt)}, process ${processId} on ${host}`
  if (other === null) return line
  const reads = `${line}; it reads ${other}, not the services of the config`
  return isDetached && !isAtWork ? `${reads}. ${waitingCure({ lane })}` : reads
}

/** Every row, and what is rarely of interest. */
function allLines(status: Status, { label }: Naming): string[] {
  const { health, jobs, webhooks, inboxes, alerts, spend } = status
  const columns = outputColumns() + 1
  const rows = Object.entries(health.rooftops).flatMap(([uid, { streams }]) =>
    Object.entries(streams).map(([stream, streamHealth]) =>
      healthRow(label(uid), stream, streamHealth),
    ),
  )
  const headings = ['rooftop', 'stream', 'status', 'covered to', 'last good run', 'quarantined']
  const others = [
    ...webhookLines(webhooks, label),
    ...inboxLines(inboxes),
    ...alertLines(alerts),
    ...Object.entries(spend).flatMap(([budget, figures]) => spendLines(budget, figures)),
  ]
  return [
    ...table(headings, rows, columns),
    ...(Object.values(jobs).some(({ last }) => last !== null)
      ? ['', ...jobLines(jobs, columns)]
      : []),
    ...rereadTexts(status, label).flatMap((text) => ['', ...wrap(text)]),
    ...others.flatMap((line) => wrap(line, { indent: line.length - line.trimStart().length })),
  ]
}

function healthRow(name: string, stream: string, health: StreamHealth): (string | number)[] {
  const at = (instant: string | null) => (instant === null ? '-' : utcText(instant))
  return [
    name,
    stream,
    health.status,
    at(health.coveredTo),
    at(health.lastGoodRunAt),
    health.quarantined,
  ]
}

/** Records that are known from the list alone. */
function rereadTexts({ health }: Status, label: (uid: string) => string): string[] {
  const all = Object.entries(health.rooftops).flatMap(([uid, { streams }]) =>
    Object.entries(streams).flatMap(([stream, { rereads }]) =>
      rereads === undefined || rereads.records === 0 ? [] : [{ uid, stream, ...rereads }],
    ),
  )
  const [first] = all
  if (first === undefined) return []
  return [
    `Each evaluation is read again at least once in ${first.withinNights} nights (28 + sync.deepRelistNights), also where its list shows no change: so a deletion that the list does not show is found by then.`,
    ...all
      .filter(({ overdue }) => overdue > 0)
      .map(
        ({ uid, stream, overdue }) =>
          `${label(uid)}: ${overdue} of ${stream} are overdue to be read again: run every night, or raise sync.rereadBudget`,
      ),
  ]
}
