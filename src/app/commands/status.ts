import { shortKey } from '../../api/sources/key-advice.ts'
import { openAppraisal } from '../../api/sources/open-services.ts'
import { isInboxHealthy, readInboxStatuses } from '../../stock/folders/inbox-status.ts'
import { allStreams } from '../../streams/all.ts'
import { readMovedNames } from '../../sync/explain/moved-fields.ts'
import { readStatus } from '../../sync/explain/status.ts'
import { type KeyState, readKeyStates } from '../../sync/run/key-states.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { readLinkStatus } from '../../web/links/link-status.ts'
import { readWebhookStatus } from '../../web/webhook/webhook-status.ts'
import { readSpend } from '../billing/spend.ts'
import { chooseRooftops, nameRooftops } from '../config/choose-rooftops.ts'
import { isAlertHealthy, readAlertStatuses } from '../scheduler/alert-status.ts'
import { isJobHealthy, readJobStatuses } from '../scheduler/job-status.ts'
import { loadJobs } from '../scheduler/load-jobs.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'
import { statusLines } from './status-text.ts'
import { verifyNow } from './verify.ts'

/** How long the source may take to answer with its clock. */
const clockTimeoutMs = 2000

export const status: RunCommand = async (session, options) => {
  const rooftops = chooseRooftops(session.config, [])
  const planned = await loadJobs(session.config)
  const warehouse = await session.warehouse('read')
  const { db } = warehouse
  const known = await findRooftops(db, rooftops)
  if (options['verify'] === true) await verifyNow(session, warehouse, known)
  const health = await readStatus(db, allStreams, known, session.config)
  const spend = await readSpend(db, session.config.budget)
  const links = await readLinkStatus(db, session.config, await sourceNow(session, db))
  const jobs = await readJobStatuses(db, session.config, planned)
  const webhooks = await readWebhookStatus(db)
  const inboxes = await readInboxStatuses(db, session.config)
  const alerts = await readAlertStatuses(db, session.config)
  const keys = await readKeyStates(db, session.config)
  const names = await readMovedNames(db, allStreams, session.config)
  const isGood =
    health.status === 'ok' &&
    links.status === 'ok' &&
    names.length === 0 &&
    keys.every(({ refusal }) => refusal === null) &&
    Object.values(jobs).every(isJobHealthy) &&
    Object.values(inboxes).every(isInboxHealthy) &&
    Object.values(alerts).every(isAlertHealthy)
  const overall = isGood ? 'ok' : 'missed'
  const parts = { keys: keyDocuments(keys), names, jobs, alerts, links, webhooks, inboxes, spend }
  session.result({ ...health, status: overall, ...parts }, () =>
    statusLines(
      { health, keys, names, jobs, alerts, links, webhooks, inboxes, spend },
      { config: session.config, label: nameRooftops(rooftops) },
      options['all'] === true,
    ),
  )
  return isGood ? 0 : 1
}

/** The keys by their names in the config, without the processes that use them. */
function keyDocuments(keys: readonly KeyState[]) {
  return Object.fromEntries(
    keys.map(({ key, users: _, ...state }) => [shortKey(key), state] as const),
  )
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
