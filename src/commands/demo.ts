import type { Config } from '../config.ts'
import { makeConfig } from '../config.ts'
import type { Warehouse } from '../warehouse.ts'
import type { RunReport } from '../pipeline/run-report.ts'
import { chooseRooftops, registerRooftops } from '../pipeline/rooftops.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { verifyStream } from '../pipeline/verify.ts'
import { type Sandbox, startSandbox } from '../sandbox/server.ts'
import { allStreams } from '../streams/all.ts'
import { daySeconds } from '../values/window.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { wholeNumberOption } from './option-values.ts'
import type { RunCommand } from './command.ts'
import { answerQuestions } from './demo-questions.ts'
import { countLines, exitCodeOf } from './run-report.ts'
import { sandboxAnchor } from './sandbox-anchor.ts'
import { table } from './table.ts'

/** The demo's world begins so many days ago. */
const historyDays = 90

export const demo: RunCommand = async (session, options) => {
  const startedAt = Date.now()
  const anchor = sandboxAnchor(session.io.environment.cwd)
  const evaluations = wholeNumberOption('--evals', options['evals'], 0, 2_000_000)
  // Photo links name one host whatever port is free today: a body must not differ by that alone.
  const sandbox = await startSandbox({
    evaluations,
    days: historyDays,
    now: anchor,
    photoBaseUrl: 'http://127.0.0.1:4010',
  })
  sandbox.clock.set(new Date(startedAt))
  try {
    const config = session.useConfig(demoConfig(sandbox, session.io.environment.cwd, anchor))
    const context = await session.context()
    const rooftops = chooseRooftops(config, [])
    const plan = {
      command: 'demo',
      mode: 'sync',
      from: toUnixSeconds(config.sync.start),
      until: null,
    } as const
    const report = await runStreams(context, { plan, streams: allStreams, rooftops })
    const coverage = await coverageOf(context, config)
    const questions = await answerQuestions(context.db)
    const seconds = (Date.now() - startedAt) / 1000
    const document = { ...report, seconds, coverage, questions, connectionString: context.url }
    session.resultWithSecrets(document, () =>
      summary(report, config, coverage, questions, context.url, seconds),
    )
    return exitCodeOf(report)
  } finally {
    await sandbox.close()
  }
}

function demoConfig(sandbox: Sandbox, cwd: string, anchor: Date): Config {
  const start = new Date(anchor.getTime() - (historyDays + 2) * daySeconds * 1000).toISOString()
  return makeConfig({ ...sandbox.clientConfig(), sync: { start } }, cwd)
}

interface Coverage {
  readonly rooftop: string
  readonly evaluations: number
  readonly windows: number
  readonly gaps: number
  readonly overlaps: number
  readonly quarantined: number
}

async function coverageOf(warehouse: Warehouse, config: Config): Promise<Coverage[]> {
  const rows: Coverage[] = []
  for (const rooftop of await registerRooftops(warehouse.db, config.rooftops)) {
    for (const stream of allStreams.filter((entry) => entry.kind === 'windowed')) {
      const { windows, gaps, overlaps, loaded, quarantined } = await verifyStream(
        warehouse.db,
        stream,
        rooftop,
        config.sync,
        new Date(),
      )
      rows.push({
        rooftop: rooftop.name,
        evaluations: loaded,
        windows,
        gaps: gaps.length,
        overlaps: overlaps.length,
        quarantined,
      })
    }
  }
  return rows
}

function summary(
  report: RunReport,
  config: Config,
  coverage: readonly Coverage[],
  questions: Awaited<ReturnType<typeof answerQuestions>>,
  url: string,
  seconds: number,
): string[] {
  const changed = Object.values(report.streams).reduce(
    (sum, counts) => sum + counts.inserted + counts.updated,
    0,
  )
  return [
    `A nightly run over ${config.rooftops.length} rooftops in AU, US and GCC: ${report.status}, ${seconds.toFixed(1)} s with starting up.`,
    ...(changed === 0
      ? ['Nothing had changed since the last run, and nothing was rewritten.']
      : []),
    '',
    ...countLines(report),
    '',
    ...table(
      ['rooftop', 'evaluations', 'windows', 'gaps', 'overlaps', 'quarantined'],
      coverage.map((row) => [
        row.rooftop,
        row.evaluations,
        row.windows,
        row.gaps,
        row.overlaps,
        row.quarantined,
      ]),
    ),
    ...questions.flatMap(({ question, sql, headings, rows }) => [
      '',
      `${question}`,
      ...sql.map((line) => `    ${line}`),
      ...table(headings, rows),
    ]),
    '',
    'Postgres keeps running, on this machine alone. Ask it yourself:',
    `  psql '${url}'`,
    '',
    'What to try next:',
    '  npm run demo                                      again: nothing is rewritten',
    `  npm run -s forecourt -- why ${String(questions[0]?.sample ?? '<EvalID>')}              where a row comes from`,
    '  npm run -s forecourt -- init --sandbox            a config of your own, for the sandbox',
    '  npm run -s forecourt -- sandbox                   the API on 127.0.0.1:4010, until Ctrl-C',
    '  npm run -s forecourt -- sync                      in another terminal: the nightly run',
    '  npm run -s forecourt -- warehouse stop            stops Postgres; the data stays in .forecourt/',
  ]
}
