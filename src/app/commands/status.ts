import { shortKey } from '../../api/sources/key-advice.ts'
import { openServices } from '../../api/sources/open-services.ts'
import { isInboxHealthy, readInboxStatuses } from '../../stock/folders/inbox-status.ts'
import { allStreams } from '../../streams/all.ts'
import { readMovedNames } from '../../sync/explain/moved-fields.ts'
import {
  isOldProof,
  type RunningRun,
  readStatus,
  type StreamHealth,
} from '../../sync/explain/status.ts'
import { type KeyState, readKeyStates } from '../../sync/run/key-states.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { utcText } from '../../values/instant.ts'
import { plural } from '../../values/text.ts'
import { otherSource } from '../../warehouse/db/run-source.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { readLinkStatus } from '../../web/links/link-status.ts'
import {
  heldNamesText,
  missingNamesText,
  readMissingNames,
} from '../../web/morning/missing-names.ts'
import {
  missedText,
  readWebhookStatus,
  type WebhookStatus,
} from '../../web/webhook/webhook-status.ts'
import { type BilledCall, readSpend, type Spend } from '../billing/spend.ts'
import { chooseRooftops, nameRooftops } from '../config/choose-rooftops.ts'
import type { Config } from '../config/read.ts'
import { isAlertHealthy, readAlertStatuses } from '../scheduler/alert-status.ts'
import { isJobHealthy, readJobStatuses } from '../scheduler/job-status.ts'
import { loadJobs, type PlannedJob } from '../scheduler/load-jobs.ts'
import type { RunCommand } from './command.ts'
import { jobLines } from './jobs-table.ts'
import { waitingCure } from './runs.ts'
import type { Session } from './session.ts'
import {
  alertLines,
  findCauses,
  inboxLines,
  linkText,
  type Naming,
  oldest,
  type Status,
} from './status-causes.ts'
import { table } from './table.ts'
import { verifyNow } from './verify.ts'
import { outputColumns, wrap } from './wrap.ts'

/** How long the source may take to answer with its clock. */
const clockTimeoutMs = 2000

export const status: RunCommand = async (session, options) => {
  const rooftops = chooseRooftops(session.config, [])
  const planned = await loadJobs(session.config)
  const warehouse = await session.warehouse('read')
  const { db } = warehouse
  const known = await findRooftops(db, rooftops)
  if (options['verify'] === true) await verifyNow(session, warehouse, known)
  // Two sessions: the longest of the others takes as long as the health of all streams.
  const [health, others] = await Promise.all([
    readStatus(db, allStreams, known, session.config),
    readOthers(session, db, planned),
  ])
  const { keys, ...parts } = others
  const { names, jobs, inboxes, alerts, links } = parts
  const isGood =
    health.status === 'ok' &&
    links.status === 'ok' &&
    names.length === 0 &&
    keys.every(({ refusal }) => refusal === null) &&
    Object.values(jobs).every(isJobHealthy) &&
    Object.values(inboxes).every(isInboxHealthy) &&
    Object.values(alerts).every(isAlertHealthy)
  const overall = isGood ? 'ok' : 'missed'
  const heldNames = session.config.wire.appraisal.held
  const document = { ...health, status: overall, keys: keyDocuments(keys), heldNames, ...parts }
  session.result(document, () =>
    statusLines(
      { health, ...others },
      { config: session.config, label: nameRooftops(rooftops) },
      options['all'] === true,
    ),
  )
  return isGood ? 0 : 1
}

/** What a status says beside the health of the streams. */
async function readOthers(
  session: Session,
  db: Db,
  planned: readonly PlannedJob[],
): Promise<Omit<Status, 'health'>> {
  const { config } = session
  const measured = measureSourceNow(session)
  return {
    keys: await readKeyStates(db, config),
    names: await readMovedNames(db, allStreams, config),
    missingNames: await readMissingNames(db, config.wire),
    jobs: await readJobStatuses(db, config, planned),
    alerts: await readAlertStatuses(db, config),
    webhooks: await readWebhookStatus(db),
    inboxes: await readInboxStatuses(db, config),
    spend: await readSpend(db, config.budget),
    links: await readLinkStatus(db, config, (await measured) ?? (await readSourceNow(db))),
  }
}

/** The keys by their names in the config, without the processes that use them. */
function keyDocuments(keys: readonly KeyState[]) {
  return Object.fromEntries(
    keys.map(({ key, users: _, ...state }) => [shortKey(key), state] as const),
  )
}

/** The source's time, read while the warehouse answers; null: the source does not answer. */
async function measureSourceNow({ config, log, io }: Session): Promise<Date | null> {
  try {
    await using services = openServices(config, log, ['read'])
    const { appraisal } = services
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(clockTimeoutMs)])
    await appraisal.measureClock({ signal })
    return appraisal.clock.now()
  } catch {
    return null
  }
}

/** The status for a morning: what is wrong first, each cause once, then a line for what is well. `isAll`: also every row. */
function statusLines(status: Status, naming: Naming, isAll: boolean): string[] {
  const causes = findCauses(status, naming)
  return [
    ...headLines(status, causes.length),
    ...[
      heldNamesText(naming.config.wire),
      status.missingNames && missingNamesText(status.missingNames),
    ].flatMap((text) => (text === null ? [] : ['', ...wrap(text, { hang: 2 })])),
    ...causes.flatMap(({ what, why, cure }) => [
      '',
      ...wrap(what, { hang: 2 }),
      ...why.flatMap((text) => wrap(text, { indent: 2 })),
      ...wrap(`Cure: ${cure}`, { indent: 2 }),
    ]),
    ...(causes.length === 0 ? [] : ['', 'Well:']),
    ...wellLines(status, naming, isAll).flatMap((text) =>
      wrap(text, { indent: causes.length === 0 ? 0 : 2 }),
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
    ...(links.status === 'ok' ? [linkText(links, config)] : []),
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
  return isDetached && !isAtWork ? `${reads}. ${waitingCure({ runId, lane })}` : reads
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

/** The calls of a budget today (user, vehicle, check), and the calls of earlier days whose outcome is unknown. */
function spendLines(budget: string, spend: Spend): string[] {
  const { allowed, used, unknown, calls, open } = spend
  const doubt = unknown === 0 ? '' : `, ${unknown} of them with an unknown outcome`
  const earlier = `Calls of earlier days on budget.${budget} that may have been billed:`
  return [
    `Spent today (UTC) of budget.${budget}: ${used} of ${allowed} calls${doubt}`,
    ...calls.map(callLine),
    ...(open.length === 0 ? [] : [earlier]),
    ...open.map(callLine),
  ]
}

function callLine(call: BilledCall): string {
  const { at, operation, state, subject, vin, by, check } = call
  const about = [subject, vin === subject ? null : vin].filter((text) => text !== null).join(' ')
  const outcome = state === 'reserved' ? 'outcome unknown' : state
  return `  ${utcText(at)}  ${operation} ${about}  ${outcome}, by ${by}${check === null ? '' : `, check ${check}`}`
}

/** The webhooks of the last 7 days for a person; no line where there are none. */
function webhookLines(
  { rooftops, unknownRooftop }: WebhookStatus,
  label: (uid: string) => string,
): string[] {
  const seconds = (value: number | null) => (value === null ? '-' : `${value} s`)
  const rows = Object.entries(rooftops).map(([uid, deliveries]) => [
    label(uid),
    deliveries.received,
    deliveries.duplicates,
    deliveries.processed,
    deliveries.waiting,
    deliveries.unusable,
    deliveries.failed,
    missedText(deliveries),
    seconds(deliveries.arrivalSeconds.p95),
    seconds(deliveries.loadingSeconds.p95),
  ])
  const headings = ['rooftop', 'received', 'doubles', 'processed', 'waiting', 'unusable', 'failed']
  return [
    ...(rows.length > 0
      ? [
          'Webhooks of the last 7 days:',
          ...table([...headings, 'missed', 'arrived within', 'loaded within'], rows),
        ]
      : []),
    ...(unknownRooftop > 0
      ? [`Webhooks that name no rooftop of the config: ${unknownRooftop} (ops.webhook_delivery)`]
      : []),
  ]
}
