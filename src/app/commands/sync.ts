import { UsageError } from '../../errors.ts'
import { allStreams } from '../../streams/all.ts'
import { stockPrices } from '../../streams/stock-prices/stock-prices.ts'
import {
  type BackfillStatus,
  findResumable,
  pauseBackfills,
  readBackfills,
  resumeCommand,
  resumeRequest,
} from '../../sync/run/backfills.ts'
import { type PlannedWork, planRun } from '../../sync/run/plan-run.ts'
import { runToEnd, startDetached } from '../../sync/run/run-streams.ts'
import type { RunRequest } from '../../sync/run/start-run.ts'
import { utcText } from '../../values/instant.ts'
import { listText } from '../../values/text.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { chooseRooftops, labelRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { chooseStreams, parseDateOption, wholeNumberOption } from './option-values.ts'
import { namesLines, reportLines, runAndReport, runExitCode } from './run-report.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

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

export const backfill: RunCommand = async (session, options, [names]) => {
  const action = readAction(options, names as string[])
  if (action === 'status') return await showBackfills(session)
  if (action === 'pause') return await pauseRunning(session, options['run'])
  chooseRooftops(session.config, [])
  if (action === 'resume')
    return await begin(session, await readResumedRequest(session, options['run']), options)
  const request = readRequest(session, options, names as string[])
  if (options['dryRun'] === true) return await dryRun(session, request)
  return await begin(session, request, options)
}

const actions = ['status', 'pause', 'resume'] as const

function readAction(
  options: Record<string, unknown>,
  names: readonly string[],
): (typeof actions)[number] | 'begin' {
  const [action = 'begin', other] = actions.filter((name) => options[name] === true)
  if (other !== undefined)
    throw new UsageError(`--${action} and --${other} cannot both be done: name one.`)
  if (action === 'begin') {
    if (options['run'] !== undefined)
      throw new UsageError('--run goes with --pause or --resume: name one of them.')
    return action
  }
  refuseIdle(action, options)
  const begins = ['from', 'to', 'oldestFirst', 'dryRun'].filter(
    (name) => options[name] !== undefined,
  )
  const rooftops = options['rooftop'] as string[]
  if (names.length > 0 || rooftops.length > 0 || begins.length > 0)
    throw new UsageError(
      `--${action} is about backfills that were started already: leave out streams, --rooftop, --from, --to and what else starts one.`,
    )
  return action
}

/** An option that would change nothing was meant for something else. */
function refuseIdle(action: (typeof actions)[number], options: Record<string, unknown>): void {
  if (action !== 'resume' && options['detach'] !== undefined)
    throw new UsageError(
      `--detach goes with a backfill that begins, or with --resume: leave it out beside --${action}.`,
    )
  if (action === 'status' && options['run'] !== undefined)
    throw new UsageError('--run goes with --pause or --resume: --status shows every backfill.')
}

function readRequest(
  session: Session,
  options: Record<string, unknown>,
  names: readonly string[],
): RunRequest {
  const missing = (what: string) => new UsageError(`${what}: see "forecourt backfill --help".`)
  if (names.length === 0) throw missing("Missing required argument 'stream'")
  const streams = chooseStreams(names)
  const listsWindows = streams.some(({ records }) => records !== undefined)
  if (options['from'] === undefined && listsWindows)
    throw missing("Required option '--from <date>' not specified")
  if (options['oldestFirst'] === true && !listsWindows)
    throw new UsageError(
      `--oldest-first is about windows, which ${names.join(', ')} does not list: leave it out.`,
    )
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  // Without a date, evaluations of any age.
  const from =
    options['from'] === undefined ? 0 : parseDateOption('--from', options['from'] as string)
  const until =
    options['to'] === undefined ? null : parseDateOption('--to', options['to'] as string)
  if (until !== null && from >= until) {
    throw new UsageError(
      `--from ${String(options['from'])} is not before --to ${String(options['to'])}: the range is [from, to).`,
    )
  }
  const oldestFirst = options['oldestFirst'] === true
  const plan = { command: 'backfill', mode: 'backfill', lane: 'background' } as const
  return { plan: { ...plan, from, until, oldestFirst }, streams, rooftops }
}

async function begin(
  session: Session,
  request: RunRequest,
  options: Record<string, unknown>,
): Promise<number> {
  const context = await session.context()
  const { rooftops, plan } = request
  if (options['detach'] === true) {
    const { run, workKeys } = await startDetached(context, request)
    const resumes = plan.resumes === undefined ? {} : { resumes: plan.resumes }
    const document = { runId: run.runId, detached: true, pieces: workKeys.length, ...resumes }
    session.result(document, () => [
      `Run ${run.runId} is left to the "forecourt worker" processes of this warehouse; "forecourt backfill --status" says how it goes.`,
    ])
    return 0
  }
  const naming = { config: session.config, rooftops }
  const { report, end } = await runToEnd(context, request)
  const resume = `"${resumeCommand(report.runId)}" goes on with it`
  if (end === 'paused') {
    session.result({ ...report, paused: true }, () => [
      ...reportLines(report, naming, resume),
      `Run ${report.runId} was paused: ${resume}.`,
    ])
    return 0
  }
  const missingNames = session.json ? [] : await namesLines(context, report, rooftops)
  session.result(report, () => [...reportLines(report, naming, resume), ...missingNames])
  return runExitCode(report)
}

/** `backfill --status`. */
async function showBackfills(session: Session): Promise<number> {
  const { db } = await session.warehouse('read')
  const runs = await readBackfills(db, session.config.sync)
  session.result({ runs }, () => {
    if (runs.length === 0) return ['No backfill was started yet.']
    const rows = runs.map((run) => [
      String(run.runId),
      stateText(run),
      ...[run.from, run.to].map(utcText),
      `${run.rooftops.done} of ${run.rooftops.all}`,
      ...[run.windows.done, run.windows.left ?? '-', run.loaded],
      run.state === 'running'
        ? `${run.perMinute.windows} windows, ${run.perMinute.loaded} records`
        : '-',
      run.secondsLeft === null ? '-' : durationText(run.secondsLeft),
    ])
    const headings = ['run', 'state', 'from', 'to', 'rooftops', 'windows', 'left']
    return table([...headings, 'loaded', 'a minute', 'time left'], rows)
  })
  return 0
}

function stateText({ state, isDetached, resumedBy }: BackfillStatus): string {
  if (resumedBy !== null) return `${state}, resumed by ${resumedBy}`
  if (state === 'dead') return 'killed'
  return state === 'running' && isDetached ? 'running, detached' : state
}

function durationText(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`
}

/** `backfill --pause`. */
async function pauseRunning(session: Session, run: unknown): Promise<number> {
  const runId = readRunOption(run)
  const { db } = await session.warehouse('write')
  const paused = await pauseBackfills(db, runId)
  if (paused.length === 0 && runId !== null)
    throw new UsageError(
      `Run ${runId} is not a running backfill: "forecourt backfill --status" lists them.`,
    )
  session.result({ paused }, () => [
    paused.length === 0
      ? 'No backfill is running.'
      : `Paused: run ${paused.join(', run ')}. Loaded data stays; ${listText(
          paused.map((id) => `"${resumeCommand(id)}"`),
          5,
        )} ${paused.length === 1 ? 'continues it' : 'continue them'}.`,
  ])
  return 0
}

/** What the run was asked for that `backfill --resume` goes on with. */
async function readResumedRequest(session: Session, run: unknown): Promise<RunRequest> {
  const { config, log } = session
  const runId = readRunOption(run)
  const { db } = await session.warehouse('write')
  const [old, ...others] = await findResumable(db, runId, config.sync)
  if (old === undefined)
    throw new UsageError(
      `${runId === null ? 'No backfill was' : `Run ${runId} is not a backfill that was`} paused, stopped or killed and not resumed since: "forecourt backfill --status" lists them.`,
    )
  const also = others.filter(({ left }) => left !== 0).map((other) => other.runId)
  if (also.length > 0)
    log.info(`run ${old.runId} continues; also unfinished: ${also.join(', ')} (--run <id>)`)
  const { request, gone } = resumeRequest(config, allStreams, old)
  if (gone.length > 0) log.warn(`rooftops no longer in the config, skipped: ${gone.join(', ')}`)
  return request
}

function readRunOption(run: unknown): number | null {
  return run === undefined ? null : wholeNumberOption('--run', run, 1, Number.MAX_SAFE_INTEGER)
}

/** `--dry-run` of a command that starts a run. */
async function dryRun(session: Session, request: RunRequest): Promise<number> {
  const { config } = session
  const { plan, isNew } = await planRun(config, session.log, request)
  session.result({ dryRun: true, mode: request.plan.mode, plan }, () => {
    const label = labelRooftops(request.rooftops)
    const labelled = plan.map((row) => ({ ...row, rooftop: label(row.rooftop) }))
    const creator = config.warehouse.url === null ? 'this command' : '"forecourt migrate"'
    return planLines(labelled, isNew ? creator : null)
  })
  return 0
}

/** `creator`: what will create the warehouse; null where there is one. */
function planLines(plan: readonly PlannedWork[], creator: string | null): string[] {
  return [
    "Plan by this machine's clock (nothing was called, nothing was written):",
    ...(creator === null
      ? []
      : [`The warehouse does not exist yet (${creator} creates it), so nothing is covered.`]),
    ...table(
      [
        'stream',
        'rooftop',
        'new',
        'not settled',
        'recheck',
        'deep',
        'list calls',
        'reads expected',
      ],
      plan.map((row) => [
        row.stream,
        row.rooftop,
        row.unlisted,
        row.gap - row.unlisted,
        row.recheck,
        row.deep,
        row.expectedLists,
        row.expectedReads ?? 'not known: never listed',
      ]),
    ),
    'Evaluations that the run itself brings in add reads of pricing and vehicle-checks.',
  ]
}
