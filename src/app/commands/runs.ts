import { UsageError } from '../../errors.ts'
import {
  type KnownRooftop,
  listRuns,
  type RunDetail,
  type RunSummary,
  readKnownRooftops,
  showRun,
} from '../../sync/explain/run-history.ts'
import { resumeCommand } from '../../sync/run/backfills.ts'
import { given } from '../../values/given.ts'
import { utcText } from '../../values/instant.ts'
import { runStates } from '../../values/names.ts'
import { knownNames } from '../../values/nearest-name.ts'
import { shortened } from '../../values/text.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import { otherSource, sourceText } from '../../warehouse/db/run-source.ts'
import { matchRooftop, rooftopLabel } from '../config/choose-rooftops.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import { parseDateOption, parseId, wholeNumberOption } from './option-values.ts'
import { countLines } from './run-report.ts'
import { table } from './table.ts'

/** Lines of streams of rooftops that a terminal shows; --json has all. */
const maxParts = 200

export const list: RunCommand = async (session, options) => {
  const limit = wholeNumberOption('--limit', options['limit'], 1, 100_000)
  const since = options['since'] === undefined ? null : parseSince(String(options['since']))
  const statuses = optionList(options['status'])?.map(parseStatus)
  const commands = optionList(options['command'])
  const streams = optionList(options['stream'])
  const { db } = await session.warehouse('read')
  const rooftops = await chooseKnown(await readKnownRooftops(db), options['rooftop'])
  const rooftopIds = rooftops?.map(({ id }) => id)
  const filter = given({ since, statuses, commands, streams, rooftopIds })
  const { runs, hasMore } = await listRuns(db, filter, limit)
  session.result({ runs, hasMore }, () => [
    ...(runs.length === 0 ? [emptyText(filter)] : runTable(runs, session.config)),
    ...(hasMore ? [`Older runs are left out: --limit ${limit * 5} shows more.`] : []),
  ])
  return 0
}

/** Without a filter, nothing has ever run. */
function emptyText(filter: object): string {
  if (Object.keys(filter).length > 0) return 'No run matches.'
  return 'Nothing has run yet: start with "forecourt sync".'
}

const headings = [
  ...['run', 'command', 'status', 'started', 'took', 'rooftops'],
  ...['inserted', 'updated', 'quarantined', 'requests', 'errors', 'first error'],
]

/** Names the services only where some run reads others than the config names. */
function runTable(runs: readonly RunSummary[], config: Config): string[] {
  const sources = runs.map(({ source }) => otherSource(source, config))
  if (sources.every((source) => source === null)) return table(headings, runs.map(runRow))
  const rows = runs.map((run, index) => [...runRow(run), sources[index] ?? 'the config'])
  return table([...headings, 'reads'], rows)
}

function runRow(run: RunSummary): (string | number)[] {
  const { counts, rooftops, firstError } = run
  return [
    ...[String(run.runId), run.command, statusText(run), utcText(run.startedAt)],
    ...[durationText(run.seconds), rooftopsText(rooftops)],
    ...[counts.inserted, counts.updated, counts.quarantined, counts.requests, run.errors],
    firstError === null ? '' : shortened(firstError, 80),
  ]
}

export const show: RunCommand = async (session, options, [text]) => {
  const problem = `"${String(text)}" is not the number of a run: "forecourt runs list" shows them.`
  const runId = parseId(text, problem)
  const { db } = await session.warehouse('read')
  const known = await readKnownRooftops(db)
  const chosen = await chooseKnown(known, options['rooftop'])
  const run = await showRun(db, runId, chosen ?? known)
  if (run === null)
    throw new UsageError(`Run ${runId} does not exist: "forecourt runs list" shows the runs.`)
  session.result(run, () => runLines(run, session.config))
  return 0
}

function runLines(run: RunDetail, config: Config): string[] {
  const { runId, command, startedAt, finishedAt, host, processId } = run
  const end = finishedAt === null ? 'now' : utcText(finishedAt)
  const parts = Object.entries(run.rooftops).flatMap(([uid, { name, streams }]) =>
    Object.entries(streams).map(([stream, part]) => ({ uid, name, stream, part })),
  )
  // What is not complete comes first, so that it is seen however many rooftops there are.
  parts.sort((a, b) => Number(a.part.status === 'ok') - Number(b.part.status === 'ok'))
  const shown = parts.slice(0, maxParts)
  const left = parts.length - shown.length
  const faults = Object.entries(run.rooftops).flatMap(([uid, { name, error }]) =>
    error === undefined ? [] : [`  ${rooftopLabel({ uid, name })}: ${error}`],
  )
  return [
    `Run ${runId}: ${command}, ${statusText(run)}, ${utcText(startedAt)} to ${end} (${durationText(run.seconds)})`,
    `  Process ${processId ?? '-'} on ${host ?? '-'}, lane ${run.lane}, mode ${run.mode}${rangeText(run)}`,
    ...sourceLines(run, config),
    ...contextLines(run),
    'Counts by stream:',
    ...countLines(run),
    run.isSummary
      ? 'Those of each rooftop were deleted: it ended longer ago than retention.runDays.'
      : 'By rooftop and stream:',
    ...table(
      [
        ...['rooftop', 'stream', 'status', 'done after', 'listed', 'inserted', 'updated'],
        ...['unchanged', 'quarantined', 'vanished', 'requests', 'retries'],
      ],
      shown.map(({ uid, name, stream, part }) => [
        ...[rooftopLabel({ uid, name }), stream, part.status],
        part.seconds === null ? '-' : durationText(part.seconds),
        ...[part.listed, part.inserted, part.updated, part.unchanged, part.quarantined],
        ...[part.vanished, part.requests, part.retries],
      ]),
    ),
    ...(left > 0 ? [`  and ${left} more: add --rooftop <uid> or --json`] : []),
    ...(faults.length > 0 ? ['Not complete:', ...faults.slice(0, maxParts)] : []),
  ]
}

function rangeText({ mode, from, until }: RunDetail): string {
  if (mode !== 'sync' && mode !== 'backfill') return ''
  return `, from ${utcText(from)} to ${until === null ? 'its start' : utcText(until)}`
}

function sourceLines(run: RunDetail, config: Config): string[] {
  if (run.source === null) return []
  const other = otherSource(run.source, config)
  const cure = other !== null && isWaiting(run) ? `. ${waitingCure(run)}` : ''
  return [
    `  Reads ${sourceText(run.source)}${other === null ? '' : ', not those of the config'}${cure}`,
  ]
}

function contextLines({ job, resumes, resumedBy }: RunDetail): string[] {
  const slot = job?.slotAt ? `, due at ${utcText(job.slotAt)}` : ', started by hand'
  return [
    ...(job === null ? [] : [`  Job ${job.name}${slot}`]),
    ...(resumes === null ? [] : [`  Continues run ${resumes}`]),
    ...(resumedBy === null ? [] : [`  Continued by run ${resumedBy}`]),
  ]
}

/** A run whose row says running is either at work, left to workers, or was killed. */
function statusText(run: Pick<RunSummary, 'status' | 'isAtWork' | 'isDetached'>): string {
  if (run.status !== 'running') return run.status
  if (run.isAtWork) return run.isDetached ? 'running, detached' : 'running'
  return run.isDetached ? 'waits for a worker' : 'killed'
}

/** What to do about a run that waits for a worker with other services than the config has. */
export function waitingCure({ runId, lane }: Pick<RunSummary, 'runId' | 'lane'>): string {
  return lane === 'background'
    ? `It waits for a "forecourt worker" whose config names these services; or go on with those of this config: "forecourt backfill --pause --run ${runId}", then "${resumeCommand(runId)}"`
    : 'It waits for a "forecourt worker" whose config names these services; the next run of the same work takes it over'
}

function isWaiting({ status, isAtWork, isDetached }: RunSummary | RunDetail): boolean {
  return status === 'running' && isDetached && !isAtWork
}

function rooftopsText({ all, incomplete, open }: RunSummary['rooftops']): string {
  const rest = [
    ...(incomplete > 0 ? [`${incomplete} incomplete`] : []),
    ...(open > 0 ? [`${open} open`] : []),
  ]
  return rest.length === 0 ? String(all) : `${all} (${rest.join(', ')})`
}

/** The rooftops of the warehouse that an option names; undefined when it names none. */
async function chooseKnown(
  known: readonly KnownRooftop[],
  option: unknown,
): Promise<readonly KnownRooftop[] | undefined> {
  return optionList(option)?.map((text) => matchRooftop(text, known, 'in the warehouse'))
}

function optionList(option: unknown): readonly string[] | undefined {
  const given = option as readonly string[]
  return given.length === 0 ? undefined : given
}

function parseStatus(text: string): string {
  if (runStates.some((state) => state === text)) return text
  throw new UsageError(`--status ${text} is not a status${knownNames(text, runStates)}`)
}

function parseSince(text: string): Date {
  const ago = /^(\d{1,5})([hd])$/.exec(text)
  if (ago === null) return fromUnixSeconds(parseDateOption('--since', text))
  const hours = Number(ago[1]) * (ago[2] === 'd' ? 24 : 1)
  return new Date(Date.now() - hours * 3_600_000)
}

function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
