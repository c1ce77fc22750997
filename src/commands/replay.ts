import { UsageError } from '../errors.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { chooseStreams } from './option-values.ts'
import { addToList, type CommandDefinition } from './command.ts'
import type { Stream } from '../streams/stream.ts'
import { exitCodeOf, reportLines } from './run-report.ts'

export const replay: CommandDefinition = {
  usage: 'replay [stream...]',
  summary: 'Rebuilds the normalised tables from the kept payloads, with no API call',
  options: (command) =>
    command.option(
      '--rooftop <uid>',
      'only this rooftop: uid, its first 4 characters or more, or name (repeatable)',
      addToList,
      [],
    ),
  examples: ['forecourt replay', 'forecourt replay evaluations'],
  async run(session, options, [names]) {
    const streams = replayable(chooseStreams(names as string[]), names as string[])
    const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
    const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
    const report = await runStreams(await session.context(), { plan, streams, rooftops })
    session.result(report, () => reportLines(report, rooftops))
    return exitCodeOf(report)
  },
}

/** Observations are never overwritten, and payloads do not hold the source's times of them: there is nothing to rebuild.
 *  Who names no stream means the others. */
function replayable(streams: readonly Stream[], named: readonly string[]): readonly Stream[] {
  const kept = streams.filter(({ kind }) => kind === 'windowed' || kind === 'snapshot')
  if (named.length === 0 || kept.length === streams.length) return kept
  const names = streams.filter((stream) => !kept.includes(stream)).map(({ name }) => name)
  throw new UsageError(
    `"replay ${names.join(' ')}" is not possible: its observations are never overwritten, and the kept payloads do not hold when the source made them.`,
  )
}
