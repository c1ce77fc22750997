import { UsageError } from '../errors.ts'
import {
  type BackfillStatus,
  findResumable,
  pauseBackfills,
  readBackfills,
} from '../pipeline/backfills.ts'
import type { RunRequest } from '../pipeline/start-run.ts'
import { chooseStreams, wholeNumberOption } from './option-values.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

/** `backfill --status`. */
export async function showBackfills(session: Session): Promise<number> {
  const { db } = await session.warehouse('read')
  const runs = await readBackfills(db, session.config.sync)
  session.result({ runs }, () => {
    if (runs.length === 0) return ['No backfill was started yet.']
    const headings = [
      'run',
      'state',
      'from (UTC)',
      'to (UTC)',
      'rooftops',
      'windows',
      'left',
      'loaded',
    ]
    const rows = runs.map((run) => [
      String(run.runId),
      stateOf(run),
      ...[run.from, run.to].map((instant) => instant.slice(0, 10)),
      `${run.rooftops.done} of ${run.rooftops.all}`,
      ...[run.windows.done, run.windows.left, run.loaded],
      run.state === 'running'
        ? `${run.perMinute.windows} windows, ${run.perMinute.loaded} records`
        : '-',
      run.secondsLeft === null ? '-' : durationText(run.secondsLeft),
    ])
    return table([...headings, 'a minute', 'time left'], rows)
  })
  return 0
}

function stateOf({ state, isDetached, resumedBy }: BackfillStatus): string {
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
export async function pauseRunning(session: Session, run: unknown): Promise<number> {
  const runId = runOf(run)
  const { db } = await session.warehouse('write')
  const paused = await pauseBackfills(db, runId)
  if (paused.length === 0 && runId !== null)
    throw new UsageError(
      `Run ${runId} is not a running backfill: "forecourt backfill --status" lists them.`,
    )
  session.result({ paused }, () => [
    paused.length === 0
      ? 'No backfill is running.'
      : `Paused: run ${paused.join(', run ')}. Loaded data stays; "forecourt backfill --resume" continues.`,
  ])
  return 0
}

/** What the run was asked for that `backfill --resume` goes on with. */
export async function readResumedRequest(session: Session, run: unknown): Promise<RunRequest> {
  const { config, log } = session
  const runId = runOf(run)
  const { db } = await session.warehouse('write')
  const [old, ...others] = await findResumable(db, runId, config.sync)
  if (old === undefined)
    throw new UsageError(
      `${runId === null ? 'No backfill was' : `Run ${runId} is no backfill that was`} paused, stopped or killed and not resumed since: "forecourt backfill --status" lists them.`,
    )
  const also = others.filter(({ left }) => left > 0).map((other) => other.runId)
  if (also.length > 0)
    log.info(`run ${old.runId} continues; also unfinished: ${also.join(', ')} (--run <id>)`)
  const rooftops = config.rooftops.filter(({ uid }) => old.rooftops.includes(uid))
  const gone = old.rooftops.filter((uid) => !rooftops.some((rooftop) => rooftop.uid === uid))
  if (gone.length > 0) log.warn(`rooftops no longer in the config, skipped: ${gone.join(', ')}`)
  if (rooftops.length === 0)
    throw new UsageError(
      `Run ${old.runId} cannot be resumed: none of its rooftops is in the config.`,
    )
  const plan = { command: 'backfill', mode: 'backfill', lane: 'background' } as const
  const { from, until, oldestFirst } = old
  return {
    plan: { ...plan, from, until, oldestFirst, resumes: old.runId },
    streams: chooseStreams(old.streams),
    rooftops,
  }
}

function runOf(run: unknown): number | null {
  return run === undefined ? null : wholeNumberOption('--run', run, 1, Number.MAX_SAFE_INTEGER)
}
