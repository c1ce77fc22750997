import { once } from 'node:events'
import { stringify } from 'yaml'
import { UsageError } from '../errors.ts'
import { startSandbox } from '../sandbox/server.ts'
import type { CommandDefinition } from './command.ts'

export const sandbox: CommandDefinition = {
  usage: 'sandbox',
  summary: 'The documented services on loopback, over a seeded world, until stopped',
  options: (command) =>
    command
      .option('--port <port>', 'port on 127.0.0.1', '4010')
      .option('--seed <n>', 'the world is a function of it', '1')
      .option('--rooftops <n>', 'how many rooftops', '6')
      .option('--evals <n>', 'how many evaluations', '2000'),
  examples: ['forecourt sandbox', 'forecourt sandbox --port 4010 --seed 7 --evals 20000'],
  async run(session, options) {
    const number = (name: string, least: number, greatest: number) => {
      const value = Number(options[name])
      if (Number.isInteger(value) && value >= least && value <= greatest) return value
      throw new UsageError(
        `--${name} ${String(options[name])} must be a whole number from ${least} to ${greatest}.`,
      )
    }
    const started = await startSandbox({
      port: number('port', 0, 65_535),
      seed: number('seed', 0, 2 ** 31),
      rooftops: number('rooftops', 1, 5000),
      evaluations: number('evals', 0, 2_000_000),
      wire: session.config.wire.appraisal,
    })
    const config = started.clientConfig()
    session.result({ baseUrl: started.baseUrl, ...config }, () => [
      `Sandbox listens on ${started.baseUrl}; stop it with Ctrl-C. A config that fits:`,
      '',
      stringify(config).trimEnd(),
    ])
    if (!session.io.signal.aborted) await once(session.io.signal, 'abort')
    await started.close()
    return 0
  },
}
