import { type Context, noProgress } from '../../context.ts'
import { allStreams } from '../../streams/all.ts'
import { runWorker } from '../../sync/run/run-worker.ts'
import { slicesAtOnce } from '../../sync/run/work-loop.ts'
import { sessionName } from '../../warehouse/db/processes.ts'
import { consumeHints } from '../../web/webhook/consume.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { openOptionalPort } from './operations-port.ts'
import { wholeNumberOption } from './option-values.ts'

const maxSlices = 32

/** The queue and the inbox, until the signal; an error of either ends both. false: something did not stop in time. */
async function workBoth(context: Context, concurrency: number): Promise<boolean> {
  const failed = new AbortController()
  const signal = AbortSignal.any([context.signal, failed.signal])
  const both = { ...context, signal }
  const hints = consumeHints(both).finally(() => failed.abort())
  hints.catch(() => undefined)
  try {
    const hasStopped = await runWorker(both, { streams: allStreams, concurrency })
    if (hasStopped) await hints
    return hasStopped
  } catch (error) {
    failed.abort()
    await hints.catch(() => undefined)
    throw error
  }
}

export const worker: RunCommand = async (session, options) => {
  const { config, log } = session
  chooseRooftops(config, [])
  const given = options['concurrency'] ?? slicesAtOnce
  const concurrency = wholeNumberOption('--concurrency', given, 1, maxSlices)
  const context = await session.context({
    progress: noProgress,
    applicationName: sessionName('worker', config),
    waitSeconds: null,
    connections: 8 + 2 * concurrency,
  })
  if (context.embedded)
    log.info('the warehouse is embedded: workers of other hosts need one that warehouse.url names')
  await using _operations = await openOptionalPort(context, options)
  log.info({ concurrency }, 'at work')
  const hasStopped = await workBoth(context, concurrency)
  session.result({ stopped: true }, () => ['Stopped.'])
  // As a second signal would: what did not stop would keep the connections, and with them the process.
  if (!hasStopped) process.kill(process.pid, 'SIGTERM')
  return 0
}
