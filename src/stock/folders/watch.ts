import { errorText } from '../../errors.ts'
import { sleep } from '../../values/sleep.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import type { Inbox, InboxServices } from './inbox.ts'
import { joined, type PassReport, runPass } from './pass.ts'

/** How often a pass that waits for files to settle checks them. */
const checkMs = 500
/** Time beyond settleSeconds, for a busy machine and for the clock of the database. */
const marginMs = 2_000

/**
 * One pass, which also waits until files that are there have settled. A file that still grows then is left for the next one.
 */
export async function runOnce(
  services: InboxServices,
  inboxes: readonly Inbox[],
): Promise<PassReport> {
  const longest = Math.max(0, ...inboxes.map(({ settleSeconds }) => settleSeconds))
  const until = performance.now() + longest * 1_000 + marginMs
  const reports = [await runPass(services, inboxes)]
  while (!services.stopping.aborted && reports.at(-1)!.waiting.length > 0) {
    if (performance.now() > until) break
    await pause(checkMs, services.stopping)
    reports.push(await runPass(services, inboxes))
  }
  const { waiting, ignored, busy } = reports.at(-1)!
  const { files, problems } = joined(reports)
  const distinct = [...new Map(problems.map((one) => [one.folder, one])).values()]
  return { files, problems: distinct, waiting, ignored, busy }
}

/** Watches the folders until the signal; `onPass` is called after every pass. */
export async function watchFolders(
  services: InboxServices,
  inboxes: readonly Inbox[],
  intervalSeconds: number,
  onPass: (report: PassReport) => Promise<void>,
): Promise<void> {
  const { stopping, log } = services
  const warned = new Set<string>()
  while (!stopping.aborted) {
    try {
      const report = await runPass(services, inboxes)
      for (const { name, reason } of report.ignored) {
        if (warned.has(name)) continue
        warned.add(name)
        log.warn({ name }, `${name} is left alone: it is ${reason}`)
      }
      await onPass(report)
    } catch (error) {
      const why = isConnectionLoss(error) ? 'the warehouse is away' : 'the pass failed'
      log.error({ err: error }, `${why}, is tried again: ${errorText(error)}`)
    }
    await pause(intervalSeconds * 1_000, stopping)
  }
}

async function pause(ms: number, stopping: AbortSignal): Promise<void> {
  await sleep(ms, [stopping]).catch(() => undefined)
}

/** Aborts some time after another signal: an import may come to its end in that time. */
export function delayed(signal: AbortSignal, seconds: number): AbortSignal {
  const later = new AbortController()
  const start = () => void setTimeout(() => later.abort(signal.reason), seconds * 1_000).unref()
  if (signal.aborted) start()
  else signal.addEventListener('abort', start, { once: true })
  return later.signal
}
