import { readSpend, type Spend } from '../billing/spend.ts'
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
    const spend = await readSpend(warehouse.db, session.config.budget)
    session.result({ ...standing, spend }, () => {
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
        ...Object.entries(spend).flatMap(([budget, own]) => spendLines(budget, own)),
      ]
    })
    return standing.status === 'ok' ? 0 : 1
  },
}

/** What a budget has cost today, and each call of it: by whom, on which vehicle. */
function spendLines(budget: string, { allowed, used, unknown, calls }: Spend): string[] {
  const doubt = unknown === 0 ? '' : `, ${unknown} of them with an unknown outcome`
  return [
    `Spent today (UTC) of budget.${budget}: ${used} of ${allowed} calls${doubt}`,
    ...calls.map(
      ({ operation, state, subject, vin, by, at }) =>
        `  ${at.slice(11, 19)}  ${operation} ${subject ?? ''} ${vin === subject ? '' : (vin ?? '')}  ${state}, by ${by}`,
    ),
  ]
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
