import { once } from 'node:events'
import { stringify } from 'yaml'
import { UsageError } from '../../errors.ts'
import { otherNames } from '../../sandbox/other-names.ts'
import { startSandbox } from '../../sandbox/server.ts'
import type { RunCommand } from './command.ts'
import { wholeNumberOption } from './option-values.ts'
import { sandboxAnchor } from './sandbox-anchor.ts'

export const sandbox: RunCommand = async (session, options) => {
  const port = wholeNumberOption('--port', options['port'], 0, 65_534)
  const { host } = options as { host: string }
  const named = options['names']
  const names =
    named === undefined
      ? { wire: session.config.wire }
      : otherNames(wholeNumberOption('--names', named, 0, 2 ** 31))
  const started = await startSandbox({
    host,
    port,
    seed: wholeNumberOption('--seed', options['seed'], 0, 2 ** 31),
    rooftops: wholeNumberOption('--rooftops', options['rooftops'], 1, 5000),
    evaluations: wholeNumberOption('--evals', options['evals'], 0, 2_000_000),
    now: sandboxAnchor(session.config.homeDir),
    ...names,
  }).catch((cause: Error) => {
    if ((cause.cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE') throw cause
    throw new UsageError(cause.message, { cause })
  })
  started.clock.set(new Date())
  const config = started.clientConfig()
  // Its keys are made up and meant to be copied, even when the config here holds them as secrets.
  const page = started.baseUrl.replace(/v1$/, '')
  session.resultWithSecrets({ baseUrl: started.baseUrl, page, ...config }, () => [
    `Sandbox listens on ${started.baseUrl}; stop it with Ctrl-C.`,
    `Its page, ${page} , shows its keys and controls; ${page}docs has every operation. A config that fits:`,
    '',
    stringify(config).trimEnd(),
  ])
  if (!session.io.signal.aborted) await once(session.io.signal, 'abort')
  await started.close()
  return 0
}
