import { UsageError } from '../../errors.ts'
import { scrubber } from '../../log.ts'
import { erasedMark } from '../../privacy/screen/search-terms.ts'
import { allStreams } from '../../streams/all.ts'
import {
  listQuarantine,
  type QuarantineEntry,
  showQuarantine,
} from '../../sync/explain/quarantine-list.ts'
import { planRetry } from '../../sync/records/retry-quarantined.ts'
import { startDetached } from '../../sync/run/run-streams.ts'
import { utcText } from '../../values/instant.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { parseId } from './option-values.ts'
import { runAndReport } from './run-report.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const quarantine: RunCommand = async (session, options, [action, texts]) => {
  const ids = (texts as string[]).map((text) =>
    parseId(text, `"${text}" is not a quarantine id: take it from "forecourt quarantine list".`),
  )
  if (options['detach'] !== undefined && action !== 'retry')
    throw new UsageError(`--detach goes with retry: leave it out beside ${String(action)}.`)
  if (action === 'list') return await list(session)
  if (action === 'show') return await show(session, ids)
  return await retry(session, ids, options)
}

async function list(session: Session): Promise<number> {
  const { db } = await session.warehouse('read')
  const open = await readAll(db)
  const label = labelRooftops(session.config.rooftops)
  session.result(open, () =>
    open.length === 0
      ? ['Nothing is in quarantine.']
      : table(
          ['id', 'stream', 'rooftop', 'record', 'attempts', 'first seen', 'issue'],
          open.map((row) => [
            String(row.id),
            row.stream,
            label(row.rooftop),
            row.naturalKey,
            row.attempts,
            utcText(row.firstSeenAt),
            shortened(row.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; ')),
          ]),
        ),
  )
  return 0
}

const pageSize = 1_000

/** Everything that is open, oldest first, page by page. */
async function readAll(db: Db): Promise<QuarantineEntry[]> {
  const all: QuarantineEntry[] = []
  for (;;) {
    const beyond = all.at(-1)?.id ?? 0
    const { entries, hasMore } = await listQuarantine(
      db,
      {},
      { order: 'oldest', beyond, limit: pageSize },
    )
    all.push(...entries)
    if (!hasMore) return all
  }
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
    `Quarantine ${entry.id}: ${entry.stream} ${entry.naturalKey} of ${label(entry.rooftop)}, attempt ${entry.attempts}, run ${entry.runId}${entry.resolvedAt ? `, resolved ${utcText(entry.resolvedAt)}` : ''}`,
    `Window ${entry.windowFrom === null ? '-' : utcText(entry.windowFrom)} to ${entry.windowUntil === null ? '-' : utcText(entry.windowUntil)}, first seen ${utcText(entry.firstSeenAt)}, last ${utcText(entry.lastSeenAt)}`,
    ...entry.issues.map((issue) => `  ${issue.path}: ${issue.message}`),
    ...payloadLines(entry.id, payload),
  ])
  return 0
}

/** A record that cannot be compared with the erased customers is not stored: it may name one of them. */
function payloadLines(id: number, payload: string | null): string[] {
  if (payload !== erasedMark) return ['Payload as received:', payload ?? '(none was received)']
  return [
    'Its payload was not stored: it may name a customer who was erased. Nothing is lost, the record is at the source.',
    `Shorten the fields named above there, or delete what is not a text of a person. Then "forecourt quarantine retry ${id}" reads it again.`,
  ]
}

/** Reads the records again; all that are open when no id is given. */
async function retry(
  session: Session,
  ids: readonly number[],
  options: Record<string, unknown>,
): Promise<number> {
  chooseRooftops(session.config, [])
  const context = await session.context()
  const { db, config } = context
  const filter = ids.length === 0 ? {} : { ids }
  await assertOpen(db, ids)
  const planned = await planRetry(db, config, allStreams, filter)
  if (planned === null) {
    session.result({ retried: 0 }, () => [nothingToRetry(ids)])
    return 0
  }
  const { request, records } = planned
  if (options['detach'] === true) {
    const { run } = await startDetached(context, request)
    session.result({ runId: run.runId, detached: true, records }, () => [
      `Run ${run.runId} is left to the "forecourt worker" processes of this warehouse; "forecourt runs show ${run.runId}" says how it goes.`,
    ])
    return 0
  }
  return await runAndReport(session, context, request)
}

async function assertOpen(db: Db, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  const page = { order: 'oldest', limit: ids.length } as const
  const { entries } = await listQuarantine(db, { ids }, page)
  const unknown = ids.find((id) => !entries.some((entry) => entry.id === id))
  if (unknown !== undefined)
    throw new UsageError(
      `Quarantine ${unknown} is not open: "forecourt quarantine list" shows what is.`,
    )
}

function nothingToRetry(ids: readonly number[]): string {
  return ids.length === 0
    ? 'Nothing is in quarantine that can be read again.'
    : 'None of them can be read again: they name no record, or their rooftop is not in the config.'
}
