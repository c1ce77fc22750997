import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { html } from '../../../values/html.ts'
import { isOfConfig } from '../../../warehouse/db/run-source.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { explainJob, jobBadge, punctuality, runJobAction, runJobButton } from '../jobs/job-parts.ts'
import { type JobFigures, readJobs } from '../jobs/read-jobs.ts'
import { definePage } from '../page.ts'
import { statusBadge } from '../parts/badge.ts'
import { durationText, instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { cutPage, idBefore, olderLink, pageSize } from '../parts/pager.ts'
import { table } from '../parts/table.ts'

/** A run of the job. */
interface JobRunRow {
  readonly id: number
  readonly slotAt: Date | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly status: string
  /** Above 1: taken over from a process that ended. */
  readonly attempt: number
  readonly host: string
  readonly runIds: readonly number[]
  readonly error: string | null
}

/** The runs of a job for the services of a config, the newest first. */
async function readJobRuns(
  db: Db,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
  { name, before }: { readonly name: string; readonly before: number },
): Promise<JobRunRow[]> {
  const { rows } = await sql<JobRunRow>`
    select fire_id as id, slot_at as "slotAt", claimed_at as "startedAt",
      finished_at as "finishedAt", status, attempt, host, error,
      -- While it is running, its runs are those of its command since then.
      case when status = 'running' then array(
          select run_id from ops.run where run.source_id = job_fire.source_id and command = 'run ' || job_name and started_at >= claimed_at and run.status = 'running' order by 1)
        else run_ids end as "runIds"
    from ops.job_fire where job_name = ${name} and ${isOfConfig('job_fire.source_id', config)} and fire_id < ${before}::bigint order by fire_id desc limit ${pageSize + 1}`.execute(
    db,
  )
  return rows
}

export const job = definePage({
  path: '/jobs/:name',
  question: 'How did it go each time?',
  roles: ['engineer', 'viewer'],
  async read({ db, config, params, query }) {
    const name = params['name']!
    const all = await readJobs(config, db)
    if (!Object.hasOwn(all, name)) return null
    const rows = await readJobRuns(db, config, { name, before: idBefore(query['before']) })
    return { name, job: all[name]!, ...cutPage(rows) }
  },
  title: ({ name }) => `Job ${name}`,
  head: ({ name, job: found }) => html`<h1>Job ${name} ${jobBadge(found)}</h1>`,
  isLive: ({ job: { last } }) => last?.status === 'running',
  draw({ name, job: found, shown, hasMore }, { config, person }) {
    const zone = config.console!.timezone
    return html`<p>${found.does}.</p>
<p class="note">${explainJob(found, zone)}</p>
${facts(found, zone)}
${person.role === 'engineer' && found.missingSetting === null && html`<p>${runJobButton(`/jobs/${name}`, name)} It runs in this <code>forecourt serve</code>, for at most ${durationText(found.budgetMinutes * 60)}. On a command line: <code>forecourt run ${name}</code></p>`}
<h2>Its runs</h2>
${table({
  caption: 'The newest first',
  hidesCaption: true,
  columns: ['Due', 'Began', 'Took', 'Status', 'Runs', 'Why'],
  rows: shown.map((row) => [
    row.slotAt === null ? 'by hand' : instant(row.slotAt, zone),
    html`${instant(row.startedAt, zone, { seconds: true })}<small>${punctuality(row)}</small>`,
    row.finishedAt === null
      ? 'not ended'
      : durationText((row.finishedAt.getTime() - row.startedAt.getTime()) / 1000),
    html`${statusBadge(row.status)}${row.attempt > 1 && html`<small>attempt ${row.attempt}, taken over on ${row.host}</small>`}`,
    row.runIds.map((id) => html`${link(id, `/runs/${id}`)} `),
    row.error ?? '',
  ]),
  empty: html`It has not run yet: it runs while <code>forecourt schedule</code> does.`,
})}
${hasMore && olderLink(`/jobs/${name}`, { before: shown.at(-1)!.id })}`
  },
  actions: { run: runJobAction },
})

function facts({ schedule, timezone, nextSlotAt, lastGoodAt }: JobFigures, zone: string) {
  return html`<dl class="facts"><dt>Schedule</dt><dd><code>${schedule}</code> in ${timezone}</dd>
<dt>Next</dt><dd>${nextSlotAt === null ? 'not scheduled' : instant(nextSlotAt, zone)}</dd>
<dt>Last good run</dt><dd>${lastGoodAt === null ? 'never' : instant(lastGoodAt, zone)}</dd></dl>`
}
