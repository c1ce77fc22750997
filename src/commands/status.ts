import { readSpend } from '../billing/spend.ts'
import type { Config } from '../config/read.ts'
import { openAppraisal } from '../sources/open-services.ts'
import type { Db } from '../db/transaction.ts'
import { readSourceNow } from '../db/source-now.ts'
import { type LinkStatus, readLinkStatus } from '../links/link-status.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { otherSource } from '../db/run-source.ts'
import {
  readStatus,
  type RunningRun,
  type StreamHealth,
  type WarehouseStatus,
} from '../pipeline/status.ts'
import { isAlertHealthy, readAlertStatuses } from '../scheduler/alert-status.ts'
import { loadJobs } from '../scheduler/load-jobs.ts'
import { isJobHealthy, readJobStatuses } from '../scheduler/job-status.ts'
import { isInboxHealthy, readInboxStatuses } from '../stock/inbox/inbox-status.ts'
import { allStreams } from '../streams/all.ts'
import { readWebhookStatus } from '../webhook/webhook-status.ts'
import { alertLines } from './alert-lines.ts'
import type { RunCommand } from './command.ts'
import { inboxLines } from './inbox-lines.ts'
import { jobLines } from './jobs-table.ts'
import type { Session } from './session.ts'
import { waitingCure } from './runs.ts'
import { spendLines } from './spend-lines.ts'
import { table } from './table.ts'
import { webhookLines } from './webhook-lines.ts'

/** How long the source may take to answer with its clock. */
const clockTimeoutMs = 2000

export const status: RunCommand = async (session) => {
  const rooftops = chooseRooftops(session.config, [])
  const planned = await loadJobs(session.config)
  const { db, pool } = await session.warehouse('read')
  const known = await findRooftops(db, rooftops)
  const health = await readStatus(db, allStreams, known, session.config)
  const spend = await readSpend(db, session.config.budget)
  const links = await readLinkStatus(db, session.config, await sourceNow(session, db))
  const jobs = await readJobStatuses(db, planned)
  const webhooks = await readWebhookStatus(db)
  const inboxes = await readInboxStatuses(pool, session.config)
  const alerts = await readAlertStatuses(db, session.config)
  const isGood =
    health.status === 'ok' &&
    links.status === 'ok' &&
    Object.values(jobs).every(isJobHealthy) &&
    Object.values(inboxes).every(isInboxHealthy) &&
    Object.values(alerts).every(isAlertHealthy)
  const overall = isGood ? 'ok' : 'missed'
  const parts = { jobs, alerts, links, webhooks, inboxes, spend }
  session.result({ ...health, status: overall, ...parts }, () => {
    const label = labelRooftops(rooftops)
    const rows = Object.entries(health.rooftops).flatMap(([uid, { streams }]) =>
      Object.entries(streams).map(([stream, own]) => healthRow(label(uid), stream, own)),
    )
    return [
      overall === 'ok' ? 'All objectives are met.' : 'Not fresh or not complete:',
      ...table(
        [
          'rooftop',
          'stream',
          'status',
          'covered to (UTC)',
          'last good run (UTC)',
          'quarantined',
          'missing',
        ],
        rows,
      ),
      ...(health.status === 'ok' ? [] : ['Run "forecourt sync", then "forecourt verify".']),
      ...health.running.map((run) => runningLine(run, session.config)),
      ...(Object.values(jobs).some(({ last }) => last !== null) ? jobLines(jobs) : []),
      ...rereadLines(health.rooftops, label),
      ...Object.entries(health.rooftops).flatMap(([uid, { zoneChange }]) =>
        zoneChange === null
          ? []
          : [
              `${label(uid)}: time zone changed from ${zoneChange.from} to ${zoneChange.to} at ${zoneChange.at}; its local days and sums were calculated again`,
            ],
      ),
      linkLine(links),
      ...webhookLines(webhooks, label),
      ...inboxLines(inboxes),
      ...alertLines(alerts),
      ...Object.entries(spend).flatMap(([budget, own]) => spendLines(budget, own)),
    ]
  })
  return overall === 'ok' ? 0 : 1
}

function runningLine(run: RunningRun, config: Config): string {
  const { runId, command, lane, startedAt, host, processId, isDetached, isAtWork } = run
  const other = otherSource(run.source, config)
  const line = `Not ended: run ${runId} (${command}), since ${startedAt}, process ${processId} on ${host}`
  if (other === null) return line
  const reads = `${line}; it reads ${other}, not the services of the config`
  return isDetached && !isAtWork ? `${reads}. ${waitingCure({ lane })}` : reads
}

/** The source's time; while it does not answer, from what the newest run measured. */
async function sourceNow({ config, log, io }: Session, db: Db): Promise<Date> {
  const appraisal = openAppraisal(config, log)
  try {
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(clockTimeoutMs)])
    await appraisal.measureClock({ signal })
    return appraisal.clock.now()
  } catch {
    return await readSourceNow(db)
  } finally {
    await appraisal.close()
  }
}

/** Records that are known from the list alone. */
function rereadLines(
  rooftops: WarehouseStatus['rooftops'],
  label: (uid: string) => string,
): string[] {
  const all = Object.entries(rooftops).flatMap(([uid, { streams }]) =>
    Object.entries(streams).flatMap(([stream, { rereads }]) =>
      rereads === undefined || rereads.records === 0 ? [] : [{ uid, stream, ...rereads }],
    ),
  )
  const [first] = all
  if (first === undefined) return []
  return [
    `An evaluation that was deleted at the source but is still listed is found within ${first.withinNights} nights (28 + sync.deepRelistNights).`,
    ...all
      .filter(({ overdue }) => overdue > 0)
      .map(
        ({ uid, stream, overdue }) =>
          `${label(uid)}: ${overdue} of ${stream} are overdue to be read again: run every night, or raise sync.rereadBudget`,
      ),
  ]
}

function linkLine({ status, inScope, alive, objective, hoursToLive }: LinkStatus): string {
  if (inScope === 0) return 'Links to PDFs: none yet'
  const facts = `Links to PDFs: ${alive} of ${inScope} have ${hoursToLive} h to live`
  if (status === 'ok') return facts
  return `${facts}, fewer than ${objective * 100} %: run "forecourt links refresh"`
}

function healthRow(name: string, stream: string, own: StreamHealth): (string | number)[] {
  const at = (instant: string | null) => instant?.slice(0, 19).replace('T', ' ') ?? '-'
  return [
    name,
    stream,
    own.status,
    at(own.coveredTo),
    at(own.lastGoodRunAt),
    own.quarantined,
    own.error ?? '-',
  ]
}
