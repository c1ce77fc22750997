import { listRuns, readKnownRooftops } from '../../pipeline/run-history.ts'
import { runStates } from '../../pipeline/run-ledger.ts'
import { html } from '../../values/html.ts'
import { definePage } from '../page.ts'
import { statusBadge } from '../parts/badge.ts'
import { choice, filterForm } from '../parts/form.ts'
import { durationText, instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'

const pageSize = 50

/** `bad`: running, and what did not end well in 14 days. */
const views = { bad: 'running or not ok', all: 'all' } as const

export const runs = definePage({
  path: '/runs',
  title: 'Runs',
  question: 'What ran, how did it end, and what did it do?',
  roles: ['engineer', 'viewer'],
  navigation: 'Runs',
  async read({ db, query }) {
    const view = query['show'] === 'all' ? 'all' : 'bad'
    const rooftop = query['rooftop'] ?? ''
    const rooftops = await readKnownRooftops(db)
    const named = rooftops.filter(({ uid }) => uid === rooftop)
    const filter = {
      ...(view === 'all' ? {} : { statuses: runStates.filter((state) => state !== 'ok') }),
      ...(view === 'all' ? {} : { since: new Date(Date.now() - 14 * 86_400_000) }),
      ...(rooftop === '' ? {} : { rooftopIds: named.map(({ id }) => id) }),
      ...(/^\d{1,15}$/.test(query['before'] ?? '') ? { before: Number(query['before']) } : {}),
    }
    const { runs: found, hasMore } = await listRuns(db, filter, pageSize)
    return { view, rooftop, rooftops, runs: found, hasMore }
  },
  isLive: ({ runs: found }) => found.some(({ isAtWork }) => isAtWork),
  draw({ view, rooftop, rooftops, runs: found, hasMore }, { config }) {
    const zone = config.console!.timezone
    const uids = Object.fromEntries(rooftops.map(({ uid, name }) => [uid, name]))
    return html`<h1>Runs</h1>
<p class="question">What ran, how did it end, and what did it do?</p>
${filterForm('/runs', 'Which runs', [
  choice('Show', 'show', view, views),
  choice('Rooftop', 'rooftop', rooftop, { '': 'all', ...uids }),
])}
${table({
  caption: view === 'bad' ? 'Running, or not ok in the last 14 days; newest first' : 'Newest first',
  columns: [
    ...['Run', 'Status', 'Ended'],
    ...[numbers('Took'), numbers('Rooftops'), numbers('Loaded'), numbers('Quarantined')],
    'First error',
  ],
  rows: found.map((run) => [
    html`<a href="/console/runs/${run.runId}">${run.runId} ${run.command}</a>`,
    statusBadge(run.isAtWork ? 'running' : run.status),
    run.finishedAt === null ? 'not yet' : instant(run.finishedAt, zone),
    durationText(run.seconds),
    run.rooftops.incomplete === 0
      ? run.rooftops.all
      : `${run.rooftops.incomplete} of ${run.rooftops.all} incomplete`,
    (run.counts.inserted + run.counts.updated).toLocaleString('en'),
    run.counts.quarantined.toLocaleString('en'),
    run.firstError ?? '',
  ]),
  empty:
    view === 'bad'
      ? html`Every run of the last 14 days ended well. <a href="/console/runs?show=all">Show all runs</a>.`
      : html`There was no run yet: start one with <code>forecourt sync</code>.`,
})}
${hasMore && html`<p><a href="/console/runs?show=${view}&rooftop=${rooftop}&before=${found.at(-1)!.runId}">Older runs</a></p>`}`
  },
})
