import { html, type Html } from '../../values/html.ts'
import { drawLast, jobBadge, runJobAction, runJobButton, whyOf } from '../jobs/job-parts.ts'
import { drawAlerts } from '../jobs/alert-parts.ts'
import { definePage } from '../page.ts'
import { readProcesses } from '../../db/processes.ts'
import { agoText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { nightStrips, readNights } from '../parts/nights.ts'
import { table } from '../parts/table.ts'

const path = '/jobs'
const question = 'What runs when, and was it on time?'

export const jobs = definePage({
  path,
  title: 'Jobs',
  question,
  roles: ['engineer', 'viewer'],
  navigation: 'Jobs',
  isMinor: true,
  async read({ db, doors, config, now }) {
    const nights = await readNights(db, config.console!.timezone, now)
    const processes = await readProcesses(db)
    const hasScheduler = processes.some(
      ({ command, isSilent }) => command === 'schedule' && !isSilent,
    )
    return { jobs: await doors.jobs(db), alerts: await doors.alerts(db), nights, hasScheduler }
  },
  isLive: ({ jobs: found }) => Object.values(found).some(({ last }) => last?.status === 'running'),
  draw({ jobs: found, alerts, nights, hasScheduler }, { config, person, now }) {
    const zone = config.console!.timezone
    return html`<h1>Jobs</h1>
<p class="question">${question}</p>
${!hasScheduler && noScheduler()}
${table({
  caption: 'The jobs of the schedule',
  hidesCaption: true,
  columns: ['Job', 'State', 'Last run', 'Next', ''],
  rows: Object.entries(found).map(([name, job]) => [
    html`${link(name, `/jobs/${name}`)}<small>${job.does}</small>`,
    html`${jobBadge(job)}<small>${whyOf(job, zone)}</small>`,
    drawLast(job.last, zone),
    job.nextSlotAt === null
      ? 'not scheduled'
      : html`${instant(job.nextSlotAt, zone)}<small>${agoText(new Date(job.nextSlotAt), now)}</small>`,
    person.role === 'engineer' && job.missingSetting === null ? runJobButton(path, name) : '',
  ]),
  empty: 'There is no job.',
})}
${drawAlerts(alerts, zone)}
<h2>Nights</h2>
${nightStrips(nights, zone, now)}`
  },
  actions: { run: runJobAction },
})

function noScheduler(): Html {
  return html`<section class="summary bad"><h2>No scheduler is alive</h2>
<p>No job starts by itself until one is: start <code>forecourt schedule</code>. It runs the newest slot that was missed.</p></section>`
}
