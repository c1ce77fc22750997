import { UsageError } from '../errors.ts'
import { scrubber } from '../log.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { listQuarantine, showQuarantine } from '../pipeline/quarantine-list.ts'
import { allStreams } from '../streams/all.ts'
import type { RunCommand } from './command.ts'
import { exitCodeOf, reportLines } from './run-report.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const quarantine: RunCommand = async (session, _options, [action, texts]) => {
  const ids = (texts as string[]).map(parseId)
  if (action === 'list') return await list(session)
  if (action === 'show') return await show(session, ids)
  return await retry(session, ids)
}

function parseId(text: string): number {
  const id = Number(text)
  if (Number.isSafeInteger(id) && id > 0) return id
  throw new UsageError(
    `"${text}" is not a quarantine id: take it from "forecourt quarantine list".`,
  )
}

async function list(session: Session): Promise<number> {
  const { db } = await session.warehouse('read')
  const open = await listQuarantine(db)
  const label = labelRooftops(session.config.rooftops)
  session.result(open, () =>
    open.length === 0
      ? ['Nothing is in quarantine.']
      : table(
          ['id', 'stream', 'rooftop', 'key', 'attempts', 'first seen (UTC)', 'issue'],
          open.map((row) => [
            String(row.id),
            row.stream,
            label(row.rooftop),
            row.naturalKey,
            row.attempts,
            row.firstSeenAt.slice(0, 19).replace('T', ' '),
            shortened(row.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ')),
          ]),
        ),
  )
  return 0
}

/** At most 120 characters, cut between two words. */
function shortened(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, text.lastIndexOf(' ', 118))} …`
}

async function show(session: Session, ids: readonly number[]): Promise<number> {
  const [id] = ids
  if (id === undefined)
    throw new UsageError('quarantine show takes an id: take it from "forecourt quarantine list".')
  const { db } = await session.warehouse('read')
  const entry = await showQuarantine(db, id)
  if (!entry)
    throw new UsageError(
      `Quarantine ${id} does not exist: "forecourt quarantine list" shows what does.`,
    )
  // As received, but for what a link is signed with: that opens it for anybody.
  const payload = entry.payload === null ? null : scrubber([])(entry.payload)
  const label = labelRooftops(session.config.rooftops)
  session.result({ ...entry, payload }, () => [
    `Quarantine ${entry.id}: ${entry.stream} ${entry.naturalKey} of ${label(entry.rooftop)}, attempt ${entry.attempts}, run ${entry.runId}${entry.resolvedAt ? `, resolved ${entry.resolvedAt}` : ''}`,
    `Window ${entry.windowFrom ?? '-'} to ${entry.windowUntil ?? '-'}, first seen ${entry.firstSeenAt}, last ${entry.lastSeenAt}`,
    ...entry.issues.map((issue) => `  ${issue.path}: ${issue.message}`),
    'Payload as received:',
    payload ?? '(none was received)',
  ])
  return 0
}

/** Reads the records again; all that are open when no id is given. */
async function retry(session: Session, ids: readonly number[]): Promise<number> {
  const rooftops = chooseRooftops(session.config, [])
  const context = await session.context()
  const open = (await listQuarantine(context.db)).filter(
    ({ id }) => ids.length === 0 || ids.includes(id),
  )
  const unknown = ids.find((id) => !open.some((entry) => entry.id === id))
  if (unknown !== undefined)
    throw new UsageError(
      `Quarantine ${unknown} is not open: "forecourt quarantine list" shows what is.`,
    )
  const streams = allStreams.filter(({ name }) => open.some(({ stream }) => stream === name))
  const concerned = rooftops.filter(({ uid }) => open.some(({ rooftop }) => rooftop === uid))
  if (streams.length === 0 || concerned.length === 0) {
    session.result({ retried: 0 }, () => ['Nothing is in quarantine.'])
    return 0
  }
  const plan = { command: 'quarantine retry', mode: 'retry', from: 0, until: 0, only: ids } as const
  const report = await runStreams(context, { plan, streams, rooftops: concerned })
  session.result(report, () => reportLines(report, concerned))
  return exitCodeOf(report)
}
