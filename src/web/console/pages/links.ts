import { sql } from 'kysely'
import { shortKey } from '../../../api/sources/key-advice.ts'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import { readKeyStates } from '../../../sync/run/key-states.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { rooftopOptions } from '../../../values/shell.ts'
import { shareText } from '../../../values/text.ts'
import { toUnixSeconds } from '../../../values/unix-seconds.ts'
import { readSourceNow, sourceNow } from '../../../warehouse/db/source-now.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { lifeBounds, readLinkLife } from '../../links/link-status.ts'
import { refusalCure, whereRefused } from '../../morning/key-words.ts'
import { ActionRefused, definePage } from '../page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { actionButton } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'
import { assertSameCount } from '../start-run.ts'

/** A watch that ends while its vehicle is for sale, and that no later search replaces. */
interface WatchRow {
  readonly uid: string
  readonly rooftop: string
  readonly evalId: number
  readonly vin: string
  readonly stockNo: string
  readonly stockUid: string
  readonly endsAt: Date
  readonly daysLeft: number
}

/** Why the answers that hold links did not come. */
interface FailureRow {
  readonly uid: string
  readonly rooftop: string
  readonly ask: string
  readonly evaluations: number
  readonly reason: string | null
  readonly lastAt: Date | null
}

/** Reads that a refused key stops. */
interface RefusedRow {
  readonly key: string
  readonly evaluations: number
  readonly lastAt: Date | null
}

interface ParkedRow {
  readonly keyName: string
  readonly until: Date
  readonly reason: string
}

export const links = definePage({
  path: '/links',
  title: 'Links',
  question: 'Which links and watches run out before somebody acts?',
  roles: ['engineer', 'viewer'],
  navigation: 'Links',
  async read({ db, config }) {
    const life = await readLife(db, config)
    const failures = await readFailures(db, config)
    const refused = await readRefused(db)
    const keys = refused.length === 0 ? [] : await readKeyStates(db, config)
    const parked = await readParked(db)
    return { life, failures, refused, keys, parked, watches: await readWatches(db) }
  },
  draw({ life, failures, refused, keys, parked, watches }, { config, person }) {
    const zone = config.console!.timezone
    return html`${drawLife(life, zone, person.role === 'engineer')}
<h2>Not signed again</h2>
${parked.map((one) => html`<p>${badge('parked', 'warn')} The daily quota of key ${one.keyName} is used up: it asks for nothing before ${instant(one.until, zone)}. ${one.reason}</p>`)}
${table({
  caption: 'Reads of checks that failed last time; every run tries them again',
  hidesCaption: true,
  columns: ['Rooftop', 'Read', numbers('Evaluations'), 'Why', 'Last tried'],
  rows: [
    ...refused.map(({ key, evaluations, lastAt }) => {
      const state = keys.find((one) => one.key === key)
      const where = state?.refusal == null ? '' : whereRefused(state.refusal)
      const cure = state === undefined ? '' : refusalCure(state, config)
      return [
        html`${badge('refused', 'bad')} key ${shortKey(key)}<small>${where}</small>`,
        'all',
        evaluations,
        cure,
        instant(lastAt, zone),
      ]
    }),
    ...failures.map((row) => [
      row.rooftop,
      html`<code>/${row.ask}</code>`,
      row.evaluations,
      row.reason ?? 'not known',
      instant(row.lastAt, zone),
    ]),
  ],
  empty: 'Nothing: the last read of every check succeeded.',
})}
<h2>Watches that end</h2>
${table({
  caption:
    'PPSR watches of cars in stock that no later search replaces, those that end first on top; at most 50',
  columns: ['Stock no.', 'Evaluation', 'VIN', 'Ends', numbers('Days left'), 'To search again'],
  rows: watches.map((row) => [
    html`<a href="/console/stock/units/${encodeURIComponent(row.stockUid)}/${encodeURIComponent(row.stockNo)}">${row.stockNo}</a>`,
    html`${evaluationLink(row.evalId, row.uid)}<small>${row.rooftop}</small>`,
    row.vin,
    instant(row.endsAt, zone),
    row.daysLeft.toFixed(1),
    searchAgain(row, config),
  ]),
  empty:
    'None: no watch of a car in stock is active without a later search. Cars are in stock when a stock list names them.',
})}`
  },
  actions: {
    refresh: {
      roles: ['engineer'],
      async run({ db, config, runs, form }) {
        const count = toSign((await readLife(db, config)).rooftops)
        if (count === 0)
          throw new ActionRefused(
            'No link expires soon any more: another run has signed them. Load the page again to see how long they live.',
          )
        assertSameCount(form['count'], count, 'links expire soon')
        const from = toUnixSeconds(config.sync.start)
        const plan = { command: 'links refresh', mode: 'links', from, until: null } as const
        const streams = allStreams.filter(({ slices }) => slices.links !== undefined)
        const runId = await runs.start({ plan, streams, rooftops: config.rooftops })
        return { location: `/runs/${runId}`, runId }
      },
    },
  },
})

function searchAgain({ uid, evalId }: WatchRow, { rooftops }: Config): Content {
  if (!rooftops.some((one) => one.uid === uid))
    return 'Its rooftop has left the config: no command searches there.'
  return html`<code>forecourt api ppsrsearch${rooftopOptions(uid)} --evalid ${evalId} --again --yes</code><small>costs one paid search, and needs room in <code>budget.ppsrSearch</code></small>`
}

const percent = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

type Life = Awaited<ReturnType<typeof readLife>>

async function readLife(db: Db, config: Config) {
  return { bounds: lifeBounds, ...(await readLinkLife(db, config, await readSourceNow(db))) }
}

function toSign(rooftops: Life['rooftops']): number {
  return rooftops.reduce((total, one) => total + one.toSign, 0)
}

function drawLife({ status, bounds, rooftops }: Life, zone: string, mayAct: boolean): Html {
  const { inScope, alive, share, objective, hoursToLive, soonestExpiry } = status
  if (inScope === 0)
    return html`<p class="empty">There are no links to keep alive: the checks of no vehicle have a PDF, or every evaluation is older than <code>links.keepAliveDays</code>.</p>`
  const isMet = status.status === 'ok'
  const count = toSign(rooftops)
  return html`<section class="summary ${(isMet ? 'ok' : 'bad') satisfies Tone}">
<h2>${alive.toLocaleString('en')} of ${inScope.toLocaleString('en')} links live ${hoursToLive} hours or more: ${shareText(share, percent)}.</h2>
<p>The objective of ${100 * objective} % is ${isMet ? 'met' : 'missed'}. The first link expires ${instant(soonestExpiry, zone)}.</p>
${count > 0 && mayAct && actionButton({ path: '/links', action: 'refresh', label: `Sign ${count.toLocaleString('en')} ${count === 1 ? 'link' : 'links'} again`, fields: { count }, isMain: true })}
</section>
${table({
  caption: 'Links by the hours that they have left',
  columns: ['Rooftop', ...lifeNames(bounds).map((name) => numbers(name)), numbers('To sign')],
  rows: rooftops.map((one) => [
    one.name,
    ...one.counts.map((each) => each.toLocaleString('en')),
    one.toSign.toLocaleString('en'),
  ]),
  empty: '',
})}
<p class="note">A permalink, <code>/links/&lt;kind&gt;/&lt;id&gt;</code>, always opens the newest link. Signing again reads the past checks: it costs nothing.</p>`
}

/** `expired`, `under 24 h`, `24 to 48 h`, …, `over 120 h`. */
function lifeNames(bounds: readonly number[]): string[] {
  return [...bounds, Infinity].map((until, at) => {
    const from = bounds[at - 1]
    if (from === undefined) return 'Expired'
    if (until === Infinity) return `Over ${from} h`
    return from === 0 ? `Under ${until} h` : `${from} to ${until} h`
  })
}

async function readRefused(db: Db): Promise<RefusedRow[]> {
  const { rows } = await sql<RefusedRow>`
    select refused_key as key, sum(evaluations)::int as evaluations, max(last_at) as "lastAt"
    from (
      select rooftop_id, refused_key, count(*) as evaluations, max(case when isfinite(last_asked_at) then last_asked_at end) as last_at
      from ops.enrichment_state
      where stream = 'vehicle-checks' and failures > 0 and refused_key is not null
      group by 1, 2
    ) as of_key
    join core.rooftop using (rooftop_id)
    where ops.is_refused(refused_key, rooftop_uid)
    group by 1 order by 1`.execute(db)
  return rows
}

/** Without those of a refused key, and of a key that is good again: the next run reads them. No run reads those of other rooftops. */
async function readFailures(db: Db, { rooftops }: Config): Promise<FailureRow[]> {
  const uids = rooftops.map(({ uid }) => uid)
  const { rows } = await sql<FailureRow>`
    select rooftop_uid as uid, rooftop_name as rooftop, ask, count(*)::int as evaluations, detail as reason,
      max(case when isfinite(last_asked_at) then last_asked_at end) as "lastAt"
    from core.rooftop join ops.enrichment_state using (rooftop_id)
    where stream = 'vehicle-checks' and failures > 0 and refused_key is null and rooftop_uid = any(${uids}::text[])
    group by rooftop_uid, rooftop_name, ask, detail order by evaluations desc, uid, ask, detail limit 50`.execute(
    db,
  )
  return rows
}

async function readParked(db: Db): Promise<ParkedRow[]> {
  const { rows } = await sql<ParkedRow>`
    select key_name as "keyName", until, reason from ops.parked
    where stream = 'vehicle-checks' and until > ${sourceNow} order by key_name`.execute(db)
  return rows
}

async function readWatches(db: Db): Promise<WatchRow[]> {
  const { rows } = await sql<WatchRow>`
    select searched.rooftop_uid as uid, searched.rooftop_name as rooftop, eval_id as "evalId", vin, stock_no as "stockNo",
      owner.rooftop_uid as "stockUid", watch_ends_at as "endsAt", days_left::float8 as "daysLeft"
    from mart.watch_expiry as watch
    join core.rooftop as searched using (rooftop_id)
    join core.rooftop as owner on owner.rooftop_id = stock_rooftop_id
    where is_in_stock and not is_searched_again order by watch_ends_at, eval_id limit 50`.execute(
    db,
  )
  return rows
}
