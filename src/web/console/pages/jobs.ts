import { readAlertStatuses } from '../../../app/scheduler/alert-status.ts'
import { type Html, html } from '../../../values/html.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { drawAlerts } from '../jobs/alert-parts.ts'
import { drawLast, explainJob, jobBadge, runJobAction, runJobButton } from '../jobs/job-parts.ts'
import { readJobs } from '../jobs/read-jobs.ts'
import { findSchedulerState, type SchedulerState } from '../jobs/scheduler-state.ts'
import { definePage } from '../page.ts'
import { agoText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { nightStrips, readNights } from '../parts/nights.ts'
import { table } from '../parts/table.ts'

const path = '/jobs'

export const jobs = definePage({
  path,
  title: 'Jobs',
  question: 'What runs when, and was it on time?',
  roles: ['engineer', 'viewer'],
  navigation: 'Jobs',
  isMinor: true,
  async read({ db, config, now }) {
    const nights = await readNights(db, config, { zone: config.console!.timezone, now })
    const found = await readJobs(config, db)
    const scheduler = findSchedulerState(await readProcesses(db, config), found)
    return { jobs: found, alerts: await readAlertStatuses(db, config), nights, scheduler }
  },
  isLive: ({ jobs: found }) => Object.values(found).some(({ last }) => last?.status === 'running'),
  draw({ jobs: found, alerts, nights, scheduler }, { config, person, now }) {
    const zone = config.console!.timezone
    return html`${notices[scheduler]}
${table({
  caption: 'The jobs of the schedule',
  hidesCaption: true,
  columns: ['Job', 'State', 'Last run', 'Next', ''],
  rows: Object.entries(found).map(([name, job]) => [
    html`${link(name, `/jobs/${name}`)}<small>${job.does}</small>`,
    html`${jobBadge(job)}<small>${explainJob(job, zone)}</small>`,
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

const notices: Readonly<Record<SchedulerState, Html | null>> = {
  scheduler: null,
  run: html`<p class="note">No scheduler is alive. The last job was started by <code>forecourt run</code>, as cron does.</p>`,
  demo: html`<p class="note">The demo starts no job by itself: start one here. Next is when <code>forecourt schedule</code> would run it.</p>`,
  none: html`<section class="summary bad"><h2>No scheduler is alive</h2>
<p>No job starts by itself until one is: start <code>forecourt schedule</code>. It runs the newest slot that was missed. Where cron starts <code>forecourt run &lt;job&gt;</code>, this ends with its next run.</p></section>`,
}
