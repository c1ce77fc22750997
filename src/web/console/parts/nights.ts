import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { type Html, html } from '../../../values/html.ts'
import { addDays, localDay, startOfDay } from '../../../values/instant.ts'
import { isOfConfig } from '../../../warehouse/db/run-source.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { dayName } from '../charts/scale.ts'
import { type Square, strip } from '../charts/strip.ts'
import { link } from './link.ts'
import { table } from './table.ts'

const nights = 14

/** How the runs of a job went on a day. */
interface JobDay {
  readonly job: string
  readonly day: string
  readonly runs: number
  /** The status of the last of them, so that what a later run fixed does not count. */
  readonly end: string
}

/** The worst first. */
const ends = ['failed', 'died', 'partial', 'stopped', 'skipped', 'ok']

/** How every job went in the last 14 days of a zone; a slot counts for the day when it was due. */
export async function readNights(
  db: Db,
  config: Pick<Config, 'appraisal' | 'vehicleData'>,
  { zone, now }: { readonly zone: string; readonly now: Date },
): Promise<JobDay[]> {
  const first = startOfDay(addDays(localDay(now, zone), 1 - nights), zone)
  const { rows } = await sql<JobDay>`
    select job_name as job, to_char(coalesce(slot_at, claimed_at) at time zone ${zone}::text, 'YYYY-MM-DD') as day, count(*)::int as runs,
      (array_agg(status order by status = 'skipped', fire_id desc))[1] as end
    from ops.job_fire where claimed_at >= ${first} and ${isOfConfig('job_fire.source_id', config)} group by 1, 2 order by 1, 2`.execute(
    db,
  )
  return rows
}

/** A strip of the last 14 days for each job that ran in them. */
export function nightStrips(days: readonly JobDay[], zone: string, now: Date): Html {
  const today = localDay(now, zone)
  const dates = Array.from({ length: nights }, (_, at) => addDays(today, at + 1 - nights))
  const byJob = Map.groupBy(days, ({ job }) => job)
  return table({
    caption: `The jobs of the last ${nights} days, the last run of each day`,
    hidesCaption: true,
    columns: ['Job', `Last ${nights} days`],
    rows: [...byJob].map(([job, jobDays]) => [
      link(job, `/jobs/${job}`),
      strip({
        summary: nightsText(jobDays),
        squares: dates.map((day) => nightSquare(day, jobDays)),
      }),
    ]),
    empty: html`No job ran in the last ${nights} days: <code>forecourt schedule</code> starts them, or cron by <code>forecourt run &lt;job&gt;</code>.`,
  })
}

/** How many days ended how: one whose run is at work has not. */
function nightsText(days: readonly JobDay[]): string {
  const counts = ends.map((status) => ({
    status,
    count: days.filter(({ end }) => end === status).length,
  }))
  const parts = counts
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => `${count} ${count === 1 ? 'day' : 'days'} ${status}`)
  return parts.length === 0 ? 'no run has ended' : parts.join(', ')
}

const tones: Readonly<Record<string, Square['tone']>> = {
  ...{ ok: 'ok', skipped: 'quiet', stopped: 'warn', running: 'quiet', partial: 'warn' },
  ...{ failed: 'bad', died: 'bad' },
}

function nightSquare(day: string, days: readonly JobDay[]): Square {
  const found = days.find((one) => one.day === day)
  const label = String(Number(day.slice(8)))
  if (found === undefined) return { label, title: `${dayName(day)}: no run`, tone: 'none' }
  const { end, runs } = found
  const title = `${dayName(day)}: ${runs === 1 ? end : `last of ${runs} runs: ${end}`}`
  return { label, title, tone: tones[end] ?? 'quiet' }
}
