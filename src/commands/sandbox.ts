import { once } from 'node:events'
import { stringify } from 'yaml'
import { UsageError } from '../errors.ts'
import { startSandbox } from '../sandbox/server.ts'
import { wholeNumberOption } from './option-values.ts'
import type { CommandDefinition } from './command.ts'
import { sandboxAnchor } from './sandbox-anchor.ts'

export const sandbox: CommandDefinition = {
  usage: 'sandbox',
  summary: 'Both documented services on loopback, over a seeded world, until stopped',
  options: (command) =>
    command
      .option('--port <port>', 'port; the vehicle-data APIs take the next one', '4010')
      .option('--host <host>', 'address to listen on; its links lead there', '127.0.0.1')
      .option('--seed <n>', 'the world is a function of it', '1')
      .option('--rooftops <n>', 'how many rooftops', '6')
      .option('--evals <n>', 'how many evaluations', '2000'),
  examples: ['forecourt sandbox', 'forecourt sandbox --port 4010 --seed 7 --evals 20000'],
  async run(session, options) {
    const port = wholeNumberOption('--port', options['port'], 0, 65_534)
    const { host } = options as { host: string }
    const started = await startSandbox({
      host,
      port,
      seed: wholeNumberOption('--seed', options['seed'], 0, 2 ** 31),
      rooftops: wholeNumberOption('--rooftops', options['rooftops'], 1, 5000),
      evaluations: wholeNumberOption('--evals', options['evals'], 0, 2_000_000),
      now: sandboxAnchor(session.config.homeDir),
      wire: session.config.wire,
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
      `Its page, ${page} , shows every operation with an example. A config that fits:`,
      '',
      stringify(config).trimEnd(),
    ])
    if (!session.io.signal.aborted) await once(session.io.signal, 'abort')
    await started.close()
    return 0
  },
}
