import type { Config } from '../../../app/config/read.ts'
import { type RunDetail, readKnownRooftops, showRun } from '../../../sync/explain/run-history.ts'
import { findResumable } from '../../../sync/run/backfills.ts'
import { type Html, html } from '../../../values/html.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { type RunLine, readRunLines } from '../../../warehouse/db/run-log.ts'
import { otherSource } from '../../../warehouse/db/run-source.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { definePage, type PageRequest, parseId } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { pageSize } from '../parts/pager.ts'
import { runBadge, runSentence } from '../parts/run-state.ts'
import { numbers, table } from '../parts/table.ts'
import { hasWorker, noWorkerNotice } from '../parts/workers.ts'
import { pauseAction, pauseButton, resumeAction, resumeButton } from '../runs/backfill-actions.ts'
import { drawPace, readBeginning, readPace, runFacts } from '../runs/facts.ts'
import { buildLanes, drawLanes, listParts, partColumns, partRow } from '../runs/parts.ts'
import { readFailures, retryAction, retryFailed } from '../runs/retry-failed.ts'

const path = '/runs/:id'

/** What a run does and did, without what only its table of parts needs. */
async function readMore(db: Db, run: RunDetail, { config }: PageRequest) {
  const isBackfill = run.lane === 'background'
  const hasEnded = run.status !== 'running'
  return {
    beginning: await readBeginning(db, run.runId),
    lines: await readRunLines(db, run.runId),
    pace: isBackfill ? await readPace(db, run.runId) : [],
    resumable:
      isBackfill && run.resumedBy === null ? await findResumable(db, run.runId, config.sync) : [],
    failures: !isBackfill && hasEnded ? await readFailures(db, run) : [],
    processes: run.isDetached && !hasEnded ? await readProcesses(db, config) : null,
  }
}

export const run = definePage({
  path,
  question: 'How did it go, stream by stream?',
  roles: ['engineer', 'viewer'],
  async read(pageRequest) {
    const { db, params, query } = pageRequest
    const found = await showRun(db, parseId(params) ?? 0, await readKnownRooftops(db))
    if (found === null) return null
    const { rooftops, ...facts } = found
    const parts = listParts(rooftops)
    const { processes, ...more } = await readMore(db, found, pageRequest)
    const skip = /^\d{1,6}$/.test(query['skip'] ?? '') ? Number(query['skip']) : 0
    return {
      // Its heartbeat is new in its first minute, also when no worker is there to take it.
      run: { ...facts, isAtWork: facts.isAtWork && (processes === null || hasWorker(processes)) },
      lanes: buildLanes(parts, facts.streams),
      parts: parts.slice(skip, skip + pageSize),
      ...{ skip, allParts: parts.length, processes, ...more },
    }
  },
  title: ({ run: { runId, command } }) => `Run ${runId} ${command}`,
  head: ({ run: facts }) => html`<h1>Run ${facts.runId} ${facts.command} ${runBadge(facts)}</h1>`,
  isLive: ({ run: { status } }) => status === 'running',
  draw(found, { config, person, now }) {
    const { run: facts, processes } = found
    const zone = config.console!.timezone
    const other = otherSource(facts.source, config)
    return html`<p role="status">${runSentence(facts, other)}</p>
${processes !== null && other === null && noWorkerNotice(processes, 'This run')}
${runFacts(facts, found.beginning, zone)}
${person.role === 'engineer' && actions(found, config)}
${drawLanes(facts, found.lanes, zone, now)}
${drawPace(found.pace, zone)}
<h2>Streams</h2>
${streamTable(facts.streams)}
<h2>Rooftops and streams</h2>
${table({
  caption: 'What it did for each stream of each rooftop; what is not ok first',
  columns: partColumns,
  onPhone: ['Stream', 'Status', 'Inserted', 'Updated', 'Quarantined', 'Why'],
  rows: found.parts.map((part) => partRow(part, facts, zone)),
  empty: facts.isSummary
    ? 'What it did for each rooftop was deleted: it ended longer ago than retention.runDays. The counts above stay.'
    : 'It had nothing to do.',
})}
${pager(found)}
<h2>Its log</h2>
${drawLines(found.lines, zone)}`
  },
  actions: { pause: pauseAction, resume: resumeAction, retry: retryFailed },
})

interface Found {
  readonly run: Pick<RunDetail, 'runId' | 'lane' | 'status' | 'mode' | 'streams'>
  readonly resumable: Awaited<ReturnType<typeof findResumable>>
  readonly failures: Awaited<ReturnType<typeof readFailures>>
}

/** What can be done about this run now. */
function actions({ run: facts, resumable, failures }: Found, config: Config): Html | null {
  const here = `/runs/${facts.runId}`
  if (facts.lane !== 'background') return retryAction(facts.runId, failures, config)
  if (facts.status === 'running') return pauseButton(here, facts.runId)
  const [old] = resumable
  return old === undefined ? null : resumeButton(here, old)
}

const tones = { info: 'quiet', warn: 'warn', error: 'bad', fatal: 'bad' } as const

function drawLines(lines: readonly RunLine[], zone: string): Html {
  return table({
    caption:
      'Its warnings and errors, and its first other lines: at most 200. The whole log is on stderr of its processes',
    columns: ['When', 'Level', 'Line'],
    rows: lines.map(({ at, level, message }) => [
      instant(at, zone, { seconds: true }),
      badge(level, tones[level]),
      message,
    ]),
    empty:
      'No line is stored: it logged no warning and no error, or they are older than retention.rawDays.',
  })
}

function streamTable(streams: RunDetail['streams']): Html {
  const columns = [
    ...(['listed', 'inserted', 'updated', 'unchanged', 'quarantined'] as const),
    ...(['vanished', 'windows', 'requests', 'retries', 'saved'] as const),
  ]
  return table({
    caption: 'What it did for each stream, in all rooftops',
    hidesCaption: true,
    columns: ['Stream', ...columns.map((name) => numbers(name[0]!.toUpperCase() + name.slice(1)))],
    rows: Object.entries(streams).map(([stream, counts]) => [
      stream,
      ...columns.map((name) => counts[name].toLocaleString('en')),
    ]),
    empty: 'It had nothing to do.',
  })
}

function pager({
  run: { runId },
  skip,
  allParts,
}: {
  readonly run: Pick<RunDetail, 'runId'>
  readonly skip: number
  readonly allParts: number
}): Html | null {
  if (allParts <= pageSize) return null
  const to = (text: string, at: number) => link(text, `/runs/${runId}`, { skip: at || null })
  const shown = `${skip + 1} to ${Math.min(skip + pageSize, allParts)} of ${allParts.toLocaleString('en')}`
  return html`<p>${shown} ${skip > 0 && to('Earlier', Math.max(0, skip - pageSize))} ${skip + pageSize < allParts && to('Further', skip + pageSize)}</p>`
}
