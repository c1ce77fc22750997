import { once } from 'node:events'
import { noProgress } from '../../context.ts'
import { sessionName } from '../../warehouse/db/processes.ts'
import { requireParts, startServer } from '../../web/serve/server.ts'
import { consumeHints } from '../../web/webhook/consume.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { openOperationsPort } from './operations-port.ts'
import { wholeNumberOption } from './option-values.ts'

export const serve: RunCommand = async (session, options) => {
  const { config, log, io } = session
  requireParts(config, log)
  chooseRooftops(config, [])
  const host = typeof options['host'] === 'string' ? options['host'] : config.serve.host
  const port = wholeNumberOption('--port', options['port'] ?? config.serve.port, 0, 65_535)
  const context = await session.context({
    progress: noProgress,
    waitSeconds: null,
    applicationName: sessionName('serve', config),
  })
  await using opened = await openOperationsPort(context, options)
  const { operations } = opened
  const { token } = config.links
  const server = await startServer(context, { host, port, token, operations })
  log.debug(`listening on ${server.url}`)
  const hints = server.receivesWebhooks ? consumeHints(context) : null
  const document = {
    url: server.url,
    links: config.links.token === null ? null : `${server.url}/links`,
    webhooks: server.receivesWebhooks ? `${server.url}/webhooks` : null,
    console: server.hasConsole ? `${config.console!.publicUrl}/console/` : null,
  }
  session.result(document, () => [
    `Serving on ${document.url}; stop it with Ctrl-C.`,
    document.links === null
      ? 'Links are off: set links.token to open them.'
      : `A permalink: ${document.links}/<kind>/<id>, with token=… in its query, where kind is ppsr_pdf, car_history_pdf or photo.`,
    document.webhooks === null
      ? 'The receiver of webhooks is off: set webhooks.authHeaderValue to open it.'
      : `Webhooks are received at ${document.webhooks}; "forecourt webhooks apply" subscribes to them.`,
    document.console === null
      ? 'The console is off: put a console: block into the config.'
      : `The console is at ${document.console}; "forecourt console link" makes a link that signs a person in.`,
  ])
  const stopped = io.signal.aborted ? Promise.resolve() : once(io.signal, 'abort')
  try {
    // The hints end before the signal only by an error: this process is older than the warehouse.
    await Promise.race([stopped, hints ?? stopped])
  } finally {
    await server.close()
  }
  await hints
  return 0
}
