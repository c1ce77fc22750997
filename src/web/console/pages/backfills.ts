import { type BackfillStatus, readBackfills } from '../../../sync/run/backfills.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { shareText } from '../../../values/text.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { definePage } from '../page.ts'
import { badge, statusBadge } from '../parts/badge.ts'
import { durationText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { numbers, table } from '../parts/table.ts'
import { noWorkerNotice } from '../parts/workers.ts'
import { pauseAction, pauseButton, resumeAction, resumeButton } from '../runs/backfill-actions.ts'

const path = '/backfills'

export const backfills = definePage({
  path,
  title: 'Backfills',
  question: 'How far is history, and when is it done?',
  roles: ['engineer', 'viewer'],
  navigation: 'Backfills',
  isMinor: true,
  async read({ db, config }) {
    const found = await readBackfills(db, config.sync)
    const waits = found.some(({ state, isDetached }) => state === 'running' && isDetached)
    return { backfills: found, processes: waits ? await readProcesses(db, config) : null }
  },
  isLive: ({ backfills: found }) => found.some(({ state }) => state === 'running'),
  draw({ backfills: found, processes }, { config, person }) {
    const zone = config.console!.timezone
    const mayAct = person.role === 'engineer'
    return html`${processes !== null && noWorkerNotice(processes, 'A detached backfill')}
${table({
  caption: 'All that have not ended, and the last ten that have; the newest first',
  columns: [
    ...['Run', 'Range', 'Streams', 'Progress'],
    ...[numbers('Windows left'), numbers('Loaded'), 'Pace', 'Time left', ''],
  ],
  rows: found.map((one) => [
    html`${link(one.runId, `/runs/${one.runId}`)} ${one.state === 'dead' ? badge('killed', 'bad') : statusBadge(one.state)}${others(one)}`,
    html`${instant(one.from, zone)} to ${instant(one.to, zone)}`,
    one.streams.join(', '),
    progress(one),
    one.windows.left?.toLocaleString('en') ?? '–',
    one.loaded.toLocaleString('en'),
    one.state === 'running'
      ? `${one.perMinute.windows.toLocaleString('en')} windows, ${one.perMinute.loaded.toLocaleString('en')} records a minute`
      : '',
    timeLeft(one),
    mayAct ? action(one) : '',
  ]),
  empty: html`No backfill was started yet: <code>forecourt backfill evaluations --from 2024-01-01 --detach</code> starts one.`,
})}`
  },
  actions: { pause: pauseAction, resume: resumeAction },
})

function timeLeft({ state, secondsLeft }: BackfillStatus): string {
  if (state !== 'running') return ''
  return secondsLeft === null ? 'not known yet' : durationText(secondsLeft)
}

function others({ resumes, resumedBy, isDetached }: BackfillStatus): Html {
  return html`${isDetached && html`<small>left to the workers</small>`}${resumes !== null && html`<small>resumes ${link(resumes, `/runs/${resumes}`)}</small>`}${resumedBy !== null && html`<small>resumed by ${link(resumedBy, `/runs/${resumedBy}`)}</small>`}`
}

function progress({ windows: { done, left }, rooftops }: BackfillStatus): Html {
  const ofRooftops = `${rooftops.done} of ${rooftops.all} rooftops`
  if (left === null) return html`<small>${ofRooftops}</small>`
  const all = done + left
  const share = shareText(all === 0 ? 1 : done / all)
  return html`<progress max="${Math.max(1, all)}" value="${all === 0 ? 1 : done}" aria-label="Windows">${share}</progress><small>${share} of the windows, ${ofRooftops}</small>`
}

const resumable: readonly BackfillStatus['state'][] = ['paused', 'stopped', 'dead']

function action({ runId, state, resumedBy, windows }: BackfillStatus): Content {
  if (state === 'running') return pauseButton(path, runId)
  if (resumedBy !== null || !resumable.includes(state)) return ''
  return resumeButton(path, { runId, left: windows.left })
}
