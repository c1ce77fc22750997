import type { Context } from '../../context.ts'
import { causeWords, withTotal } from '../../sync/run/cause-words.ts'
import type { Counts, RunPlan } from '../../sync/run/run-ledger.ts'
import type { RunReport } from '../../sync/run/run-report.ts'
import { runStreams } from '../../sync/run/run-streams.ts'
import type { RunRequest } from '../../sync/run/start-run.ts'
import { listText, plural } from '../../values/text.ts'
import { refusalWords } from '../../web/morning/key-words.ts'
import {
  heldNamesText,
  missingNamesText,
  readMissingNames,
} from '../../web/morning/missing-names.ts'
import { nameRooftops } from '../config/choose-rooftops.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'
import { wrap } from './wrap.ts'

/** Runs to the end and prints the report. Returns the exit code. */
export async function runAndReport(
  session: Session,
  context: Context,
  request: RunRequest,
): Promise<number> {
  const report = await runStreams(context, request)
  const { rooftops } = request
  const names = session.json ? [] : await namesLines(context, report, rooftops)
  session.result(report, () => [
    ...reportLines(report, { config: session.config, rooftops }, goesOn(request.plan)),
    ...names,
  ])
  return runExitCode(report)
}

/** How many evaluations a first load has at least before it says something of the names. */
const enoughEvaluations = 20

/** What a run that loaded evaluations says of the names of the service: of columns that stay empty, and of a first load what its answers
 *  show. */
export async function namesLines(
  { db, config, log }: Context,
  { streams, stoppedBy }: RunReport,
  rooftops: readonly RooftopConfig[],
): Promise<string[]> {
  const { inserted = 0, updated = 0, unchanged = 0 } = streams['evaluations'] ?? {}
  if (inserted === 0 || stoppedBy !== undefined) return []
  const isFirstLoad = inserted >= Math.max(enoughEvaluations, 9 * (updated + unchanged))
  try {
    const { newestFindings } = await import('../../web/console/names/stored-answers.ts')
    const { findings } = isFirstLoad
      ? await newestFindings(db, { ...config, rooftops })
      : { findings: [] }
    const wrong = findings.filter(({ mustChange, isHeld }) => mustChange && !isHeld)
    const missing = await readMissingNames(db, config.wire)
    const held = heldNamesText(config.wire)
    return [
      ...(held === null ? [] : wrap(held)),
      ...(missing === null ? [] : wrap(missingNamesText(missing))),
      ...(wrong.length === 0 ? [] : wrap(wrongNamesText(wrong.map(({ setting }) => setting)))),
    ]
  } catch (err) {
    // A warehouse that is gone by now must not cost the report of what was loaded.
    log.debug({ err }, 'names not examined')
    return []
  }
}

function wrongNamesText(settings: readonly string[]): string {
  const names = listText(
    settings.map((setting) => `wire.${setting}`),
    5,
  )
  return `${plural(settings.length, 'setting')} may have another path at this service: ${names}. "forecourt wire learn --stored" shows the evidence, and sets with --write what is proved. Restart what runs with the old names; "forecourt replay" then corrects what was loaded.`
}

/** 0 all that was asked is in the warehouse; 1 something failed or was quarantined. */
export function runExitCode(report: RunReport): number {
  return report.status === 'ok' ? 0 : 1
}

const shown = [
  'listed',
  'hydrated',
  'inserted',
  'updated',
  'unchanged',
  'quarantined',
  'vanished',
  'windows',
  'requests',
  'retries',
  'saved',
] as const satisfies readonly (keyof Counts)[]

/** What a run did, a line for each stream. */
export function countLines(
  report: Pick<RunReport, 'streams'>,
  columns: readonly (typeof shown)[number][] = shown,
): string[] {
  const rows = Object.entries(report.streams).map(([name, counts]) => [
    name,
    ...columns.map((column) => counts[column]),
  ])
  return table(['stream', ...columns], rows)
}

/** How a report names things. `rooftops`: those of the run; default: all of the config. */
interface ReportNaming {
  readonly config: Config
  readonly rooftops?: readonly RooftopConfig[]
}

/** What does the rest of a run that was stopped. A sync replays nothing, prices only what is due, and lists no record without a window. */
export function goesOn({ command, mode }: Pick<RunPlan, 'command' | 'mode'>): string {
  return mode === 'replay' || mode === 'reprice' || mode === 'retry'
    ? `the same "forecourt ${command}" again does the rest`
    : 'the next sync goes on'
}

/** A run for a person: what it did, and each cause of what is missing once. `resume`: what goes on after a stop. */
export function reportLines(
  report: RunReport,
  { config, rooftops = config.rooftops }: ReportNaming,
  resume: string,
): string[] {
  const { runId, status, startedAt, finishedAt, stoppedBy, missing = [] } = report
  const seconds = finishedAt === null ? 0 : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000
  const named = new Set(missing.map(({ rooftop }) => rooftop))
  const others = rooftops.filter(
    ({ uid }) => report.rooftops[uid]!.status !== 'ok' && !named.has(uid),
  )
  return [
    `Run ${runId}: ${stoppedBy === undefined ? status : 'stopped'} in ${seconds.toFixed(1)} s`,
    ...countLines(report),
    ...(stoppedBy === undefined ? [] : wrap(stopText(stoppedBy, resume))),
    ...(missing.length > 0 ? ['Not complete:', ...missingLines(report, { config, rooftops })] : []),
    ...(missing.length === 0 && stoppedBy === undefined && others.length > 0
      ? wrap(
          `Not complete: ${listText(
            others.map(({ name }) => name),
            5,
          )}`,
        )
      : []),
  ]
}

function stopText(stoppedBy: string, resume: string): string {
  const who = stoppedBy === 'SIGINT' ? 'You stopped it (Ctrl-C)' : `It was stopped by ${stoppedBy}`
  return `${who}. Nothing is lost: what was loaded stays, and ${resume}.`
}

function missingLines(
  { missing = [], refusals = {} }: RunReport,
  { config, rooftops }: Required<ReportNaming>,
): string[] {
  const label = nameRooftops(rooftops)
  const causes = Map.groupBy(
    missing,
    ({ rooftop, cause, refusedKey }) => refusedKey ?? causeWords(cause.replaceAll(rooftop, '')),
  )
  return [...causes.values()].flatMap((sameCause) => {
    const streams = [...new Set(sameCause.map(({ stream }) => stream))].join(', ')
    const names = [...new Set(sameCause.map(({ rooftop }) => label(rooftop)))]
    const { refusedKey: key } = sameCause[0]!
    const where = `${streams} of ${listText(names, 5)}`
    const refusal = key === null ? undefined : refusals[key]
    if (key === null || refusal === undefined)
      return wrap(`${where}: ${withTotal(sameCause.map(({ cause }) => cause))}`, { indent: 2 })
    const words = refusalWords({ key, refusal }, where, config)
    return [
      ...wrap(words.what, { indent: 2 }),
      ...[...words.why, `Cure: ${words.cure}`].flatMap((text) => wrap(text, { indent: 4 })),
    ]
  })
}
