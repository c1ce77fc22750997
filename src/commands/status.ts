import { chooseRooftops, findRooftops } from '../pipeline/rooftops.ts'
import { readStatus, type StreamStandings } from '../pipeline/status.ts'
import { allStreams } from '../streams/all.ts'
import type { CommandDefinition } from './command.ts'
import { table } from './table.ts'

export const status: CommandDefinition = {
  usage: 'status',
  summary: 'Freshness, coverage, gaps and quarantine; exit 1 when an objective is missed',
  examples: ['forecourt status', 'forecourt status --json'],
  async run(session) {
    const rooftops = chooseRooftops(session.config, [])
    const warehouse = await session.warehouse('read')
    const known = await findRooftops(warehouse.db, rooftops)
    const standing = await readStatus(warehouse.db, allStreams, known, session.config)
    session.result(standing, () => {
      const rows = Object.values(standing.rooftops).flatMap(({ name, streams }) =>
        Object.entries(streams).map(([stream, own]) => standingRow(name, stream, own)),
      )
      return [
        standing.status === 'ok' ? 'All objectives are met.' : 'Objectives are missed:',
        ...table(
          ['rooftop', 'stream', 'status', 'covered to', 'last good run', 'quarantined', 'missing'],
          rows,
        ),
        ...standing.running.map(
          ({ runId, command, startedAt, host, processId }) =>
            `Not ended: run ${runId} (${command}), since ${startedAt}, process ${processId} on ${host}`,
        ),
      ]
    })
    return standing.status === 'ok' ? 0 : 1
  },
}

function standingRow(name: string, stream: string, own: StreamStandings): (string | number)[] {
  const at = (instant: string | null) => instant?.slice(0, 19).replace('T', ' ') ?? '-'
  return [
    name,
    stream,
    own.status,
    at(own.coveredTo),
    at(own.lastGoodRunAt),
    own.quarantined,
    own.error ?? '',
  ]
}
