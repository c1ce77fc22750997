import { readKnownRooftops, showRun } from '../../pipeline/run-history.ts'
import { html } from '../../values/html.ts'
import { definePage } from '../page.ts'
import { statusBadge } from '../parts/badge.ts'
import { durationText, instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'

export const run = definePage({
  path: '/runs/:id',
  question: 'How did it go, stream by stream?',
  roles: ['engineer', 'viewer'],
  async read({ db, params }) {
    if (!/^\d{1,15}$/.test(params['id']!)) return null
    return await showRun(db, Number(params['id']), await readKnownRooftops(db))
  },
  title: ({ runId }) => `Run ${runId}`,
  isLive: ({ isAtWork }) => isAtWork,
  draw(found, { config }) {
    const zone = config.console!.timezone
    const parts = Object.entries(found.rooftops).flatMap(([uid, { name, streams }]) =>
      Object.entries(streams).map(([stream, part]) => ({ uid, name, stream, ...part })),
    )
    return html`<h1>Run ${found.runId} ${found.command} ${statusBadge(found.status)}</h1>
<p class="question">How did it go, stream by stream?</p>
<p>Started ${instant(found.startedAt, zone)}, took ${durationText(found.seconds)}.</p>
<h2>Rooftops and streams</h2>
${table({
  caption: 'What it did for each stream of each rooftop',
  hidesCaption: true,
  columns: ['Rooftop', 'Stream', 'Status', numbers('Listed'), numbers('Loaded'), 'Error'],
  rows: parts.map((part) => [
    part.name,
    part.stream,
    statusBadge(part.status),
    part.listed,
    part.inserted + part.updated,
    part.error ?? '',
  ]),
  empty: 'It had nothing to do.',
})}`
  },
})
