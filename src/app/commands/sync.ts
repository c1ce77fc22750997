import { UsageError } from '../../errors.ts'
import { stockPrices } from '../../streams/stock-prices/stock-prices.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { dryRun } from './dry-run.ts'
import { chooseStreams } from './option-values.ts'
import { runAndReport } from './run-report.ts'

// Commands that run streams, and do nothing else.

export const sync: RunCommand = async (session, options, [names]) => {
  const streams = chooseStreams(names as string[])
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  const from = toUnixSeconds(session.config.sync.start)
  const plan = { command: 'sync', mode: 'sync', from, until: null } as const
  if (options['dryRun'] === true) return await dryRun(session, { plan, streams, rooftops })
  return await runAndReport(session, await session.context(), { plan, streams, rooftops })
}

export const replay: RunCommand = async (session, options, [names]) => {
  const streams = chooseStreams(names as string[])
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  return await runAndReport(session, await session.context(), { plan, streams, rooftops })
}

export const reprice: RunCommand = async (session, options) => {
  const { config } = session
  const rooftops = chooseRooftops(config, options['rooftop'] as string[])
  if (config.vehicleData.apiKey === null)
    throw new UsageError(
      'The config has no vehicleData.apiKey, so nothing can be priced: set it to the key of the vehicle-data APIs.',
    )
  const from = toUnixSeconds(config.sync.start)
  const plan = { command: 'reprice', mode: 'reprice', from, until: null } as const
  const request = { plan, streams: [stockPrices], rooftops }
  return await runAndReport(session, await session.context(), request)
}
