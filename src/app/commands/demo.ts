import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { sql } from 'kysely'
import { UsageError } from '../../errors.ts'
import { type Sandbox, startSandbox } from '../../sandbox/server.ts'
import { allStreams } from '../../streams/all.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import type { RunReport } from '../../sync/run/run-report.ts'
import { runStreams } from '../../sync/run/run-streams.ts'
import { runWorker } from '../../sync/run/run-worker.ts'
import { recordVerification, verifyWarehouse } from '../../sync/verify/verify-warehouse.ts'
import { isLoopback } from '../../values/service-address.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { daySeconds } from '../../values/window.ts'
import { sessionName } from '../../warehouse/db/processes.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { linkLines, makeLink } from '../../web/console/access/link.ts'
import { startServer } from '../../web/serve/server.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import { type Config, configPath, loadConfig, makeConfig } from '../config/read.ts'
import { sandboxConsole } from '../config/template.ts'
import type { RunCommand } from './command.ts'
import { writeConfig } from './init.ts'
import { wholeNumberOption } from './option-values.ts'
import { countLines, runExitCode } from './run-report.ts'
import { sandboxAnchor } from './sandbox-anchor.ts'
import { table } from './table.ts'

/** The generated data begins this many days ago. */
const historyDays = 90

export const demo: RunCommand = async (session, options) => {
  await session.showProgress()
  const startedAt = Date.now()
  const file = configPath(undefined, session.io.environment)
  const hasConfig = existsSync(file)
  if (hasConfig) requireNoRealData(loadConfig(file, session.io.environment))
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
    const config = session.useConfig(await demoConfig(sandbox, session.io.environment.cwd, anchor))
    const context = await session.context({
      applicationName: sessionName('demo', config),
      isSandbox: true,
    })
    const rooftops = chooseRooftops(config, [])
    const plan = {
      command: 'demo',
      mode: 'sync',
      from: toUnixSeconds(config.sync.start),
      until: null,
    } as const
    const report = await runStreams(context, { plan, streams: allStreams, rooftops })
    const coverage = await readDemoCoverage(context, config)
    const questions = await answerQuestions(context.db)
    if (!hasConfig) writeConfig(file, true)
    const seconds = (Date.now() - startedAt) / 1000
    const isServing = options['console'] ?? (session.io.stdout.isTTY === true && !session.json)
    await using server =
      isServing === true ? await startServer(context, { ...config.serve, token: null }) : null
    const link = server === null ? null : await makeLink(context.db, config, demoPerson)
    const connectionString = context.url
    const call = programCall(session.io.environment.variables)
    const document = { ...report, seconds, coverage, questions, connectionString, console: link }
    session.resultWithSecrets(document, () => [
      ...summary(report, config, coverage, questions, seconds, call),
      ...nextSteps(call, hasConfig, server !== null, questions[0]?.sample),
      ...consoleLines(call, link),
    ])
    // What the console starts, until Ctrl-C.
    if (server !== null) await runWorker(context, { streams: allStreams, concurrency: 2 })
    return runExitCode(report)
  } finally {
    await sandbox.close()
  }
}

const demoPerson = sandboxConsole.people[0]!.email

/** The port that the config names, or any free one where another program has it. */
async function freePort(wanted: number): Promise<number> {
  const probe = createServer()
  try {
    probe.listen(wanted, '127.0.0.1')
    await once(probe, 'listening')
    return (probe.address() as AddressInfo).port
  } catch {
    return await freePort(0)
  } finally {
    probe.close()
  }
}

function consoleLines(call: string, link: string | null): string[] {
  if (link === null) return []
  return [
    '',
    'The web console shows the same, and more, until you press Ctrl-C here.',
    ...linkLines(demoPerson, link),
    `Another link: ${call} console link`,
  ]
}

async function demoConfig(sandbox: Sandbox, cwd: string, anchor: Date): Promise<Config> {
  const port = await freePort(4020)
  const demoConsole = { ...sandboxConsole, publicUrl: `http://127.0.0.1:${port}` }
  const start = new Date(anchor.getTime() - (historyDays + 2) * daySeconds * 1000).toISOString()
  return makeConfig(
    { ...sandbox.clientConfig(), sync: { start }, serve: { port }, console: demoConsole },
    cwd,
  )
}

const columns = ['rooftop', 'evaluations', 'windows', 'gaps', 'overlaps', 'quarantined'] as const

type Coverage = Awaited<ReturnType<typeof readDemoCoverage>>[number]

async function readDemoCoverage(warehouse: Warehouse, config: Config) {
  const rooftops = await registerRooftops(warehouse.db, config.rooftops)
  const found = await verifyWarehouse(warehouse, allStreams, rooftops, config.sync)
  await recordVerification(warehouse.db, rooftops, found)
  return found.checked.map(({ rooftop, windows, gaps, overlaps, loaded, quarantined }) => ({
    rooftop: rooftops.find(({ uid }) => uid === rooftop)!.name,
    ...{ evaluations: loaded, windows, gaps: gaps.length, overlaps: overlaps.length, quarantined },
  }))
}

/** Of the counts of a run: what a first night needs, in 80 columns. */
const shown = ['listed', 'inserted', 'updated', 'unchanged', 'quarantined', 'vanished'] as const

/** The words of the table that are not plain. */
function countNotes({ streams }: RunReport): string[] {
  const counts = Object.values(streams)
  return [
    ...(counts.some(({ unchanged }) => unchanged > 0)
      ? ['  unchanged: stored already (users come with each rooftop), or nothing found']
      : []),
    ...(counts.some(({ vanished }) => vanished > 0)
      ? ['  vanished: listed, and deleted at the source before it was read']
      : []),
  ]
}

function summary(
  report: RunReport,
  config: Config,
  coverage: readonly Coverage[],
  questions: Awaited<ReturnType<typeof answerQuestions>>,
  seconds: number,
  call: string,
): string[] {
  const changed = Object.values(report.streams).reduce(
    (sum, counts) => sum + counts.inserted + counts.updated,
    0,
  )
  return [
    `A nightly run over ${config.rooftops.length} rooftops in AU, US and GCC: ${report.status}, in ${seconds.toFixed(1)} s.`,
    ...(changed === 0
      ? ['Nothing had changed since the last run, and nothing was rewritten.']
      : []),
    '',
    ...countLines(report, shown),
    ...countNotes(report),
    '',
    ...table(
      columns,
      coverage.map((row) => columns.map((name) => row[name])),
    ),
    ...questions.flatMap(({ question, sql, headings, rows }) => [
      '',
      `${question}`,
      ...sql.map((line) => `    ${line}`),
      ...table(headings, rows),
    ]),
    '',
    'Postgres keeps running, on this machine alone. Query it yourself:',
    `  psql "$(${call} warehouse url)"`,
  ]
}

/** Generated vehicles must not get among real ones. UsageError when the config here reads a real service into the same Postgres. */
function requireNoRealData(config: Config): void {
  const { baseUrl } = config.appraisal
  if (config.warehouse.url !== null || isLoopback(baseUrl)) return
  throw new UsageError(
    `${config.file} reads ${new URL(baseUrl).hostname} into the Postgres of this folder, and the demo would add generated vehicles to it: run the demo in an empty folder.`,
  )
}

function nextSteps(call: string, hadConfig: boolean, isServing: boolean, evalId = 0): string[] {
  const steps = [
    ['status', 'is it fresh and complete?'],
    ['verify', 'proves that nothing is missing'],
    [`why ${evalId === 0 ? '<EvalID>' : evalId}`, 'where a row comes from'],
  ]
  const afterwards = [
    ['demo', 'again: nothing is rewritten'],
    ['sandbox', 'the API, in a terminal of its own'],
    ['sync', 'the nightly run, in another'],
    ['serve', 'the web console'],
    ['warehouse stop', 'stops Postgres, keeps the data'],
  ]
  const lines = (all: readonly (readonly string[])[]) =>
    all.map(([command, what]) => `  ${`${call} ${command}`.padEnd(40)} ${what}`)
  return [
    '',
    hadConfig
      ? 'forecourt.yaml was here and was not changed; the commands below read it.'
      : 'forecourt.yaml was written here; it names this Postgres and the sandbox.',
    isServing ? 'What to try next, in a second terminal:' : 'What to try next:',
    ...lines(steps),
    isServing ? 'What to try once you have ended the demo with Ctrl-C:' : 'And by yourself:',
    ...lines(afterwards),
  ]
}

/** How the program was started: in a checkout, by npx, or installed. */
function programCall(variables: Readonly<Record<string, string | undefined>>): string {
  if (import.meta.filename.endsWith('.ts')) return 'npm run -s forecourt --'
  return variables['npm_command'] === 'exec' ? 'npx forecourt' : 'forecourt'
}

interface AnsweredQuestion {
  readonly question: string
  readonly sql: readonly string[]
  readonly headings: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
  /** An id to ask `why` about. */
  readonly sample?: number
}

const questions: readonly { question: string; sql: string }[] = [
  {
    question: 'Which rooftops appraise most, and for how much in their currency?',
    sql: `select rooftop_name as rooftop, currency_code as currency,
  count(*)::int as appraisals,
  round(avg(final_price))::int as "average price"
from core.evaluation join core.rooftop using (rooftop_id, currency_code)
where gone_at is null
group by 1, 2 order by 3 desc`,
  },
  {
    question: 'How long from creation to completion, and how many took over a day?',
    sql: `select rooftop_name as rooftop,
  round(extract(epoch from percentile_cont(0.5) within group (
    order by completed_at - created_at)) / 60)::int as "median minutes",
  count(*) filter (
    where completed_at - created_at > interval '1 day'
  )::int as "over a day"
from core.evaluation join core.rooftop using (rooftop_id)
group by 1 order by 2 desc`,
  },
  {
    question: 'Which electric vehicles have the weakest batteries?',
    sql: `select rooftop_name as rooftop, eval_id::text as evaluation, make, model,
  battery_soh_pct::float8 as "battery %"
from core.reconditioning_item
join core.evaluation using (rooftop_id, eval_id)
join core.rooftop using (rooftop_id)
where battery_soh_pct is not null and last_version is null
order by 5, 2 limit 5`,
  },
]

/** The demo's three questions with their SQL, which runs as it is printed. */
async function answerQuestions(db: Db): Promise<AnsweredQuestion[]> {
  const sample = await db
    .selectFrom('core.evaluation')
    .select('eval_id')
    .orderBy('eval_id')
    .limit(1)
    .executeTakeFirst()
  const answered: AnsweredQuestion[] = []
  for (const entry of questions) {
    const { rows } = await sql.raw<Record<string, string | number | null>>(entry.sql).execute(db)
    answered.push({
      question: entry.question,
      sql: entry.sql.split('\n'),
      headings: Object.keys(rows[0] ?? { answer: '' }),
      rows: rows.map((row) => Object.values(row).map((cell) => cell ?? '-')),
      ...(sample ? { sample: sample.eval_id } : {}),
    })
  }
  return answered
}
