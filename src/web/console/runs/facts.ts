import { sql } from 'kysely'
import type { RunDetail } from '../../../sync/explain/run-history.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { sourceText } from '../../../warehouse/db/run-source.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { columns } from '../charts/columns.ts'
import { chartFigure } from '../charts/plot.ts'
import { clockTime } from '../charts/scale.ts'
import { durationText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'

/** What came before a run: who started it, and the runs that it belongs to. */
interface Beginning {
  /** The person who started it in the console; null: a command or a job did. */
  readonly email: string | null
  /** The runs of the same backfill, the first one first; only itself where it was never resumed. */
  readonly chain: readonly number[]
}

/** Reads what came before a run, and what continues it. */
export async function readBeginning(db: Db, runId: number): Promise<Beginning> {
  const { rows } = await sql<Beginning>`
    with recursive earlier as (
      select run_id, resumes from ops.run where run_id = ${runId}::bigint
      union select run.run_id, run.resumes from ops.run join earlier on run.run_id = earlier.resumes
    ), later as (
      select ${runId}::bigint as run_id
      union select run.run_id from ops.run join later on run.resumes = later.run_id
    )
    select (select email from ops.console_action where run_id = ${runId}::bigint order by action_id limit 1) as email,
      array(select run_id from earlier union select run_id from later order by 1) as chain`.execute(
    db,
  )
  return rows[0]!
}

/** The facts of a run, as a list. */
export function runFacts(
  run: Omit<RunDetail, 'rooftops'>,
  { email, chain }: Beginning,
  zone: string,
): Html {
  const facts: (readonly [string, Content])[] = [
    ['Started', instant(run.startedAt, zone, { seconds: true })],
    [
      'Ended',
      run.finishedAt === null
        ? html`not yet, ${durationText(run.seconds)} so far`
        : html`${instant(run.finishedAt, zone, { seconds: true })}, after ${durationText(run.seconds)}`,
    ],
    ['Started by', startedBy(run, email, zone)],
    ['Range', rangeText(run, zone)],
    ['Lane', run.isDetached ? `${run.lane}, left to the workers` : run.lane],
    [
      'Process',
      run.host === null ? 'not known' : `${run.processId ?? '?'} on ${run.host}, where it started`,
    ],
    ['Reads', run.source === null ? 'not known' : sourceText(run.source)],
    ['Clock of the source', instant(run.sourceStartedAt, zone, { seconds: true })],
  ]
  const more = chain.length > 1 ? [['Runs of this backfill', drawChain(run.runId, chain)]] : []
  return html`<dl class="facts">${[...facts, ...more].map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

function startedBy(
  { job, command }: Pick<RunDetail, 'job' | 'command'>,
  email: string | null,
  zone: string,
) {
  if (email !== null) return `${email}, in the console`
  if (job === null) return html`the command <code>forecourt ${command}</code>`
  const slot = job.slotAt === null ? 'by hand' : html`for ${instant(job.slotAt, zone)}`
  return html`the job ${link(job.name, `/jobs/${job.name}`)}, ${slot}`
}

function rangeText({ mode, from, until, startedAt }: Omit<RunDetail, 'rooftops'>, zone: string) {
  if (mode !== 'sync' && mode !== 'backfill') return 'none: it lists no windows'
  return html`${instant(from, zone)} to ${until === null ? html`its start, ${instant(startedAt, zone)}` : instant(until, zone)}`
}

function drawChain(runId: number, chain: readonly number[]): Content {
  return chain.map((id, at) => [
    at > 0 && ', resumed as ',
    id === runId ? html`<strong>${id}</strong>` : link(id, `/runs/${id}`),
  ])
}

/** What a backfill committed in a minute. */
interface PaceMinute {
  readonly at: Date
  readonly windows: number
  readonly loaded: number
}

/** The pace of the last hour of a backfill's work. */
export async function readPace(db: Db, runId: number): Promise<PaceMinute[]> {
  const { rows } = await sql<PaceMinute>`
    select minute_at as at, windows, loaded from ops.run_pace where run_id = ${runId}::bigint order by minute_at`.execute(
    db,
  )
  return rows
}

/** The pace as columns, a minute each; a minute without a commit has none. */
export function drawPace(pace: readonly PaceMinute[], zone: string): Html | null {
  const [first, last] = [pace[0], pace.at(-1)]
  if (first === undefined || last === undefined) return null
  const minutes = Math.round((last.at.getTime() - first.at.getTime()) / 60_000) + 1
  const days = Array.from({ length: minutes }, (_, minute) =>
    new Date(first.at.getTime() + minute * 60_000).toISOString(),
  )
  const valuesOf = (name: 'windows' | 'loaded') =>
    days.map((day) => pace.find(({ at }) => at.toISOString() === day)?.[name] ?? 0)
  const step = { of: 'Minute', nameOf: (day: string) => clockTime(new Date(day), zone) }
  const chart = (title: string, name: 'windows' | 'loaded') =>
    chartFigure(
      columns({ title, unit: '', days, step, series: [{ name, values: valuesOf(name) }] }),
    )
  return html`<h2>Pace in the last hour of its work, ${zone}</h2>
${chart('Windows a minute', 'windows')}${chart('Records loaded a minute', 'loaded')}`
}
