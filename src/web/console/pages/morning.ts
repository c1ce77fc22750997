import { allStreams } from '../../../streams/all.ts'
import { listRuns, type RunSummary } from '../../../sync/explain/run-history.ts'
import { readKeyStates } from '../../../sync/run/key-states.ts'
import { type Html, html } from '../../../values/html.ts'
import { earliest, latest } from '../../../values/instant.ts'
import { plural } from '../../../values/text.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { type Problem, sortProblems, streamProblems } from '../../morning/problems.ts'
import { readStreamStates, type StreamState } from '../../morning/stream-states.ts'
import { readJobs } from '../jobs/read-jobs.ts'
import { findSchedulerProblem } from '../jobs/scheduler-state.ts'
import { nightStrip, readStreamNights } from '../morning/nights.ts'
import { readOtherProblems } from '../morning/other-problems.ts'
import { drawSummary } from '../morning/summary.ts'
import { definePage } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { agoText, shortInstant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'

/** Problems of the page; `?show=all` shows the others. */
const maxProblems = 10
const nightCount = 14

export const morning = definePage({
  path: '/',
  title: 'Morning',
  question: null,
  roles: ['engineer', 'viewer'],
  navigation: 'Morning',
  async read({ db, config, now, query }) {
    const states = await readStreamStates(db, config.rooftops)
    const keys = await readKeyStates(db, config)
    const ofStreams = streamProblems(states, { keys, config })
    const jobs = await readJobs(config, db)
    const scheduler = findSchedulerProblem(await readProcesses(db, config), jobs)
    const others = [
      ...(await readOtherProblems({ db, jobs, config, keys })),
      ...(scheduler === null ? [] : [scheduler]),
    ]
    const uids = config.rooftops.map(({ uid }) => uid)
    const span = { zone: config.console!.timezone, now, count: nightCount }
    const nights = await readStreamNights(db, uids, span)
    const { runs: running } = await listRuns(db, { statuses: ['running'] }, 10)
    const problems = sortProblems<Problem>([...ofStreams, ...others])
    return {
      ...{ states, streamProblems: ofStreams, nights, running, problemCount: problems.length },
      problems: query['show'] === 'all' ? problems : problems.slice(0, maxProblems),
    }
  },
  isLive: ({ running }) => running.length > 0,
  head: ({ states, streamProblems: ofStreams, problemCount, running }, { config, now }) =>
    drawSummary(
      {
        ...{ states, problems: ofStreams, otherCount: problemCount - ofStreams.length },
        runningId: running[0]?.runId ?? null,
      },
      { config, time: (at) => shortInstant(at, config.console!.timezone, now) },
    ),
  draw({ states, problems, problemCount, nights, running }, { config, now }) {
    const zone = config.console!.timezone
    const left = problemCount - problems.length
    return html`<h2>What needs attention</h2>
${drawProblems(problems, zone, now)}
${left > 0 && html`<p><a href="/console/?show=all">Show ${plural(left, 'more problem')}</a></p>`}
<h2>The last ${nightCount} nights</h2>
${nightStrip(nights)}
<h2>Running now</h2>
${drawRunning(running, zone, now)}
<h2>Freshness</h2>
${drawFreshness(states, zone, now)}`
  },
})

function drawProblems(problems: readonly Problem[], zone: string, now: Date): Html {
  return table({
    caption: 'What is late, failed, held back or about to expire, the worst first',
    hidesCaption: true,
    columns: ['What', 'Why', 'Since', 'Do'],
    rows: problems.map(({ word, tone, what, detail, why, since, link }) => [
      html`${badge(word, tone)} ${what}<small>${detail}</small>`,
      why,
      since === null
        ? '–'
        : html`${shortInstant(since, zone, now)}<small>${agoText(since, now)}</small>`,
      html`<a class="button" href="/console${link.path}">${link.label}</a>`,
    ]),
    empty:
      'Nothing: every stream of every rooftop is fresh and complete, and nothing is about to expire.',
  })
}

function drawRunning(running: readonly RunSummary[], zone: string, now: Date): Html {
  return table({
    caption: 'Runs that have not ended',
    hidesCaption: true,
    columns: ['Run', 'Started', numbers('Rooftops done')],
    rows: running.map(({ runId, command, streams, rooftops, counts, startedAt, isAtWork }) => [
      html`<a href="/console/runs/${runId}">${runId} ${command}</a> ${isAtWork ? badge('running', 'quiet') : badge('no process', 'bad')}
<small>${streams.join(', ')} · ${counts.listed.toLocaleString('en')} listed · ${(counts.inserted + counts.updated).toLocaleString('en')} changed</small>`,
      html`${shortInstant(startedAt, zone, now)}<small>${agoText(startedAt, now)}</small>`,
      `${rooftops.all - rooftops.open} of ${rooftops.all}`,
    ]),
    empty: 'Nothing is running.',
  })
}

/** The three clocks of each stream: of the rooftop that is furthest behind, and the newest fact of all. */
function drawFreshness(states: readonly StreamState[], zone: string, now: Date): Html {
  const time = (at: Date | null, otherwise: string) =>
    at === null ? otherwise : shortInstant(at, zone, now)
  return table({
    caption: 'Of each stream: the rooftop that is furthest behind, and the newest record of any',
    columns: ['Stream', 'Last good run', 'Covered to', 'Newest record'],
    rows: allStreams.map(({ name }) => {
      const streamStates = states.filter(({ stream }) => stream === name)
      return [
        name,
        time(earliest(streamStates.map(({ lastGoodAt }) => lastGoodAt)), 'not yet'),
        time(earliest(streamStates.map(({ coveredTo }) => coveredTo)), 'not yet'),
        time(latest(streamStates.flatMap(({ newestAt }) => newestAt ?? [])), 'none'),
      ]
    }),
    empty: 'There are no streams.',
  })
}
