import { sql } from 'kysely'
import { listRuns } from '../../pipeline/run-history.ts'
import type { Db } from '../../db/transaction.ts'
import { html, type Html } from '../../values/html.ts'
import { definePage } from '../page.ts'
import { badge, statusBadge, type Tone } from '../parts/badge.ts'
import { agoText, instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'

/** How a stream of a rooftop is this morning. */
interface StreamRow {
  readonly uid: string
  readonly name: string
  readonly stream: string
  readonly status: 'ok' | 'partial' | 'failed' | 'late' | 'never'
  readonly error: string | null
  readonly lastGoodAt: string | null
  readonly coveredTo: string | null
  readonly gaps: number | null
  readonly quarantined: number
}

async function readStreams(db: Db, uids: readonly string[]): Promise<StreamRow[]> {
  const { rows } = await sql<StreamRow>`
    select rooftop_uid as uid, rooftop_name as name, stream, case
        when last_status is null then 'never' when last_status in ('failed', 'parked') then 'failed'
        when not is_at_work and coalesce(last_good_run_at < now() - interval '26 hours', true) then 'late'
        when last_error is not null or quarantined > 0 or open_gaps > 0 or unprovable > 0 then 'partial' else 'ok' end as status,
      last_error as error, to_json(last_good_run_at) #>> '{}' as "lastGoodAt",
      to_json(case when stream = 'evaluations' then upper(covered) else read_to end) #>> '{}' as "coveredTo",
      open_gaps as gaps, quarantined
    from core.stream_status join core.rooftop using (rooftop_id)
    where rooftop_uid = any(${[...uids]}::text[])`.execute(db)
  return rows
}

export const morning = definePage({
  path: '/',
  title: 'Morning',
  question: 'May I trust the numbers of this morning, and if not, what do I do?',
  roles: ['engineer', 'viewer'],
  navigation: 'Morning',
  async read({ db, config }) {
    const streams = await readStreams(
      db,
      config.rooftops.map(({ uid }) => uid),
    )
    const { runs: running } = await listRuns(db, { statuses: ['running'] }, 10)
    return { streams, running }
  },
  isLive: ({ running }) => running.length > 0,
  draw({ streams, running }, { config, now }) {
    const zone = config.console!.timezone
    const wrong = streams.filter(({ status }) => status !== 'ok')
    return html`${summary(streams)}
<h2>What needs attention</h2>
${table({
  caption: 'Streams that are not fresh or not complete, worst first',
  hidesCaption: true,
  columns: ['What', 'Why', 'Last good run'],
  rows: wrong
    .slice(0, 10)
    .map((row) => [
      html`${statusBadge(row.status)} ${row.name}<small>${row.stream}</small>`,
      row.error ?? `${row.quarantined} quarantined, ${row.gaps ?? 0} gaps`,
      row.lastGoodAt === null
        ? 'never'
        : html`${instant(row.lastGoodAt, zone)}<small>${agoText(new Date(row.lastGoodAt), now)}</small>`,
    ]),
  empty: 'Nothing: every stream of every rooftop is fresh and complete.',
})}
<h2>Running now</h2>
${table({
  caption: 'Runs that have not ended',
  hidesCaption: true,
  columns: ['Run', 'Started', numbers('Loaded')],
  rows: running.map((run) => [
    html`<a href="/console/runs/${run.runId}">${run.runId} ${run.command}</a> ${badge('running', 'quiet')}`,
    instant(run.startedAt, zone),
    run.counts.inserted + run.counts.updated,
  ]),
  empty: 'Nothing is running.',
})}`
  },
})

/** One sentence that answers the question of the page. */
function summary(streams: readonly StreamRow[]): Html {
  const byRooftop = Map.groupBy(streams, ({ uid }) => uid)
  const good = [...byRooftop.values()].filter((own) => own.every(({ status }) => status === 'ok'))
  const tone: Tone = good.length === byRooftop.size ? 'ok' : 'warn'
  return html`<section class="summary ${tone}">
<h1>${good.length} of ${byRooftop.size} rooftops are fresh and complete.</h1></section>`
}
