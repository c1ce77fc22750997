import { sql } from 'kysely'
import { shortKey } from '../../../api/sources/key-advice.ts'
import type { Config } from '../../../app/config/read.ts'
import { listRuns } from '../../../sync/explain/run-history.ts'
import { type KeyState, readKeyStates } from '../../../sync/run/key-states.ts'
import type { Lane } from '../../../sync/run/run-ledger.ts'
import { lanePriority } from '../../../sync/run/work-queue.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { otherSource } from '../../../warehouse/db/run-source.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { countQueueParts, type QueuePart } from '../../../warehouse/queue/queue.ts'
import { definePage } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { agoText, instant } from '../parts/instant.ts'
import { keyStateText } from '../parts/key-state.ts'
import { link } from '../parts/link.ts'
import { runBadge } from '../parts/run-state.ts'
import { numbers, table } from '../parts/table.ts'
import { hasWorker } from '../parts/workers.ts'

const stuckSeconds = 60

/** The loaded records of the last five minutes, by run; only backfills record their pace. */
async function readPaces(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ id: number; loaded: number }>`
    select run_id as id, sum(loaded)::int as loaded from ops.run_pace join ops.run using (run_id)
    where run.status = 'running' and minute_at > now() - interval '6 minutes' group by 1`.execute(
    db,
  )
  return Object.fromEntries(rows.map(({ id, loaded }) => [id, loaded]))
}

/** The queue by stream and lane. */
interface QueueRow extends Omit<QueuePart, 'priority'> {
  readonly lane: Lane
}

function byLane(parts: readonly QueuePart[]): QueueRow[] {
  const laneOf = ({ priority }: QueuePart) =>
    (Object.keys(lanePriority) as Lane[]).find((lane) => priority >= lanePriority[lane])!
  const groups = Map.groupBy(parts, (part) => `${part.stream} ${laneOf(part)}`)
  const sum = (some: readonly QueuePart[], name: 'active' | 'waiting' | 'delayed') =>
    some.reduce((all, part) => all + part[name], 0)
  return [...groups.values()]
    .map((queueParts): QueueRow => {
      const oldest = queueParts.flatMap(({ oldestAt }) => oldestAt?.getTime() ?? [])
      return {
        ...{ stream: queueParts[0]!.stream, lane: laneOf(queueParts[0]!) },
        ...{ active: sum(queueParts, 'active'), waiting: sum(queueParts, 'waiting') },
        delayed: sum(queueParts, 'delayed'),
        oldestAt: oldest.length === 0 ? null : new Date(Math.min(...oldest)),
      }
    })
    .sort((a, b) => lanePriority[b.lane] - lanePriority[a.lane] || (a.stream < b.stream ? -1 : 1))
}

export const work = definePage({
  path: '/work',
  title: 'Work',
  question: 'Is work moving, and who does it?',
  roles: ['engineer', 'viewer'],
  navigation: 'Work',
  async read({ db, config }) {
    const { runs } = await listRuns(db, { statuses: ['running'] }, 50)
    return {
      ...{ runs, paces: await readPaces(db), processes: await readProcesses(db, config) },
      ...{
        queue: byLane(await countQueueParts(db)),
        keys: await readKeyStates(db, config),
      },
    }
  },
  isLive: () => true,
  head: (data, { config, now }) => summary(data, config, now),
  draw(data, { config, now }) {
    const zone = config.console!.timezone
    return html`<h2>Runs</h2>
${table({
  caption: 'Runs that have not ended',
  hidesCaption: true,
  columns: ['Run', 'Lane', 'Started', numbers('Open rooftops'), numbers('Loaded'), 'Pace'],
  rows: data.runs.map((run) => [
    html`${link(`${run.runId} ${run.command}`, `/runs/${run.runId}`)} ${runBadge(run)}`,
    run.lane,
    html`${instant(run.startedAt, zone)}<small>${agoText(run.startedAt, now)}</small>`,
    `${run.rooftops.open} of ${run.rooftops.all}`,
    (run.counts.inserted + run.counts.updated).toLocaleString('en'),
    paceText(run, data.paces[run.runId]),
  ]),
  empty: 'Nothing is running.',
})}
<h2>Queue</h2>
${table({
  caption: 'Slices of work: at most one for each stream of each rooftop',
  columns: [
    ...['Stream', 'Lane'],
    ...['At work', 'Waiting', 'Later'].map(numbers),
    'Oldest waits since',
  ],
  rows: data.queue.map((row) => [
    ...[row.stream, row.lane, row.active, row.waiting, row.delayed],
    row.oldestAt === null ? '' : instant(row.oldestAt, zone, { seconds: true }),
  ]),
  empty: 'It is empty.',
})}
<h2>Processes</h2>
${table({
  caption: 'Processes that are connected to this warehouse and run until they are stopped',
  columns: ['Process', 'Does', 'Since', 'State'],
  rows: data.processes.map(({ command, processId, host, since, isSilent, isOfOtherSource }) => [
    html`<code>forecourt ${command}</code><small>${processId} on ${host}</small>`,
    isOfOtherSource
      ? 'the same for other services: its config names another base URL'
      : does[command],
    instant(since, zone),
    isSilent ? badge('silent', 'bad') : badge('alive', 'ok'),
  ]),
  empty: html`None: neither <code>forecourt worker</code> nor <code>forecourt schedule</code> runs. Commands do their own work.`,
})}
<h2 id="keys">Keys</h2>
${table({
  caption: 'API keys, by their names in the config',
  hidesCaption: true,
  columns: ['Key', 'State', 'Used by'],
  rows: data.keys.map((row) => [
    shortKey(row.key),
    keyStateText(row, { config, zone, now }),
    keyUsers(row),
  ]),
  empty: 'The config has no key.',
})}`
  },
})

const does = {
  worker: 'the work of every run, also of detached ones',
  schedule: 'jobs at their times',
  serve: 'this console, links and webhooks',
  demo: 'the console of the demo, and its work',
} as const

type Data = {
  readonly runs: Awaited<ReturnType<typeof listRuns>>['runs']
  readonly queue: readonly QueueRow[]
  readonly processes: Awaited<ReturnType<typeof readProcesses>>
}

/** One sentence that answers the question, and what to do where the answer is no. */
function summary({ runs, queue, processes }: Data, config: Config, now: Date): Html {
  const sum = (name: 'active' | 'waiting') => queue.reduce((all, row) => all + row[name], 0)
  const [active, waiting] = [sum('active'), sum('waiting')]
  const oldest = Math.min(...queue.flatMap(({ oldestAt }) => oldestAt?.getTime() ?? []))
  const isStuck = active === 0 && (now.getTime() - oldest) / 1000 > stuckSeconds
  const isOurs = ({ source }: Data['runs'][number]) => otherSource(source, config) === null
  const isLeft = runs.some((run) => run.isDetached && isOurs(run)) && !hasWorker(processes)
  const numbersText = `${plural(runs.length, 'run')}, ${plural(active, 'slice')} at work, ${waiting.toLocaleString('en')} waiting.`
  if (isStuck && hasWorker(processes))
    return html`<section class="summary bad"><h1>Work waits, and the worker takes none of it.</h1>
<p>${numbersText} Its config may not have these rooftops, or it may be too old: its log says why.</p></section>`
  if (isStuck || isLeft)
    return html`<section class="summary bad"><h1>Work waits, and no worker is alive.</h1>
<p>${numbersText} Start <code>forecourt worker</code> with a config that names the same services, on any machine that reaches this warehouse: the work goes on where it stopped.</p></section>`
  const title = runs.length + active > 0 ? 'Work is moving.' : 'There is nothing to do.'
  return html`<section class="summary ${hasWorker(processes) ? 'ok' : 'warn'}"><h1>${title}</h1>
<p>${numbersText} ${!hasWorker(processes) && html`No worker is alive: commands and jobs do their own work, but a detached run would wait for <code>forecourt worker</code>.`}</p></section>`
}

function paceText(run: Data['runs'][number], loaded: number | undefined): string {
  if (loaded !== undefined) return `${Math.round(loaded / 5).toLocaleString('en')} records a minute`
  const minutes = Math.max(run.seconds / 60, 1 / 60)
  const all = run.counts.inserted + run.counts.updated
  return `${Math.round(all / minutes).toLocaleString('en')} records a minute since it began`
}

function keyUsers({ users }: KeyState): Content {
  if (users.length === 0) return 'no process now'
  return users.map(
    ({ host, processId, inFlight, demand }) =>
      html`<div>${processId} on ${host}: ${plural(inFlight, 'request')} under way, ${demand - inFlight > 0 ? demand - inFlight : 0} waiting</div>`,
  )
}
