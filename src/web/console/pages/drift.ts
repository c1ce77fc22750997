import { sql } from 'kysely'
import { allStreams } from '../../../streams/all.ts'
import { type MovedName, movedTexts, readMovedNames } from '../../../sync/explain/moved-fields.ts'
import { html } from '../../../values/html.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { type FieldNews, type News, readFieldNews } from '../drift/fields.ts'
import { definePage, type PageRequest } from '../page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { instant } from '../parts/instant.ts'
import { cappedText } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'

interface CheckRow {
  readonly stream: string
  readonly check: string
  /** At most 10,001. */
  readonly records: number
  readonly newestAt: Date
}

interface WarningRow {
  readonly uid: string | null
  readonly rooftop: string | null
  readonly key: string
  readonly detail: string
  readonly seenAt: Date
  readonly runId: number
}

const maxFields = 200

const words: Readonly<Record<News, { readonly tone: Tone; readonly meaning: string }>> = {
  new: {
    tone: 'warn',
    meaning: 'first seen in the last 30 days, after the first day of its stream',
  },
  vanished: { tone: 'bad', meaning: 'not seen for 30 days, while other fields of its stream were' },
  missing: { tone: 'warn', meaning: 'the documents promise it, and records came without it' },
  undocumented: {
    tone: 'quiet',
    meaning:
      'neither the documents nor the config name it: it is stored in the payload alone. To load it, set the field of wire that it belongs to and restart what runs; "forecourt replay" loads it from the stored payloads',
  },
}

export const drift = definePage({
  path: '/drift',
  title: 'Drift',
  roles: ['engineer', 'viewer'],
  navigation: 'Drift',
  isMinor: true,
  async read({ db, query, config }) {
    const { stream = '', check = '' } = query
    if (stream !== '' && check !== '')
      return { stream, check, warnings: await readWarnings(db, stream, check) }
    const moved = await readMovedNames(db, allStreams, config)
    return { ...(await readFieldNews(db, config, maxFields)), moved, checks: await readChecks(db) }
  },
  question: ({ check }) =>
    html`Did the service change under us?${check !== undefined && html` <a href="/console/drift">All checks</a>`}`,
  head: ({ check }) => html`<h1>${check === undefined ? 'Drift' : `Records with ${check}`}</h1>`,
  draw: (data, request) =>
    data.warnings === undefined
      ? drawDrift(data, request)
      : drawWarnings(data.stream, data.warnings, request),
})

/** The checks that found something. There may be a warning for every record, so nothing counts them all. */
async function readChecks(db: Db): Promise<CheckRow[]> {
  const { rows } = await sql<CheckRow>`
    with recursive found as (
      (select stream, check_name from ops.data_quality order by stream, check_name limit 1)
      union all
      select next.* from found cross join lateral (
        select stream, check_name from ops.data_quality as other
        where (other.stream, other.check_name) > (found.stream, found.check_name)
        order by stream, check_name limit 1) as next
    )
    select stream, check_name as "check", records, newest_at as "newestAt"
    from found
    cross join lateral (
      select count(*)::int as records from (
        select from ops.data_quality as own where own.stream = found.stream and own.check_name = found.check_name order by seen_at desc limit 10001) as own_rows
    ) as counted
    cross join lateral (
      select max(seen_at) as newest_at from ops.data_quality as own where own.stream = found.stream and own.check_name = found.check_name
    ) as newest
    order by newest_at desc`.execute(db)
  return rows
}

async function readWarnings(db: Db, stream: string, check: string): Promise<WarningRow[]> {
  const { rows } = await sql<WarningRow>`
    select rooftop_uid as uid, rooftop_name as rooftop, natural_key as key, detail, seen_at as "seenAt",
      run_id as "runId"
    from ops.data_quality left join core.rooftop using (rooftop_id)
    where stream = ${stream} and check_name = ${check} order by seen_at desc limit 50`.execute(db)
  return rows
}

interface DriftData {
  readonly moved: readonly MovedName[]
  readonly fields: readonly FieldNews[]
  readonly hasMore: boolean
  readonly checks: readonly CheckRow[]
}

function drawDrift({ fields, moved, hasMore, checks }: DriftData, { config }: PageRequest) {
  const zone = config.console!.timezone
  const used = [...new Set(fields.map(({ news }) => news))]
  return html`${moved.length > 0 && drawMoved(moved, config)}<h2>Fields of the answers</h2>
${fields.some(({ news, column }) => news === 'vanished' && column !== null) && html`<p>A column has lost its field. <a href="/console/names">Names</a> says whether it moved, and to which path.</p>`}
${table({
  caption: 'New and vanished fields first, then what came most often',
  columns: ['Field', 'Stream', 'Type', 'News', numbers('Seen'), 'First', 'Last'],
  rows: fields.map((row) => [
    html`<code>${row.path}</code>${row.below > 0 && html` <small>and ${row.below} below it</small>`}${row.column !== null && html` <small>in ${row.column}</small>`}`,
    row.stream,
    html`${row.types.join(', ')}${row.example !== null && html` <small>e.g. <code>${row.example}</code></small>`}`,
    html`${badge(row.news, words[row.news].tone)}${!row.isDocumented && row.news === 'new' && html`<small>not in the documents</small>`}`,
    row.seen.toLocaleString('en'),
    instant(row.firstSeenAt, zone),
    instant(row.lastSeenAt, zone),
  ]),
  empty:
    'Nothing: every field has its column, and is as it was 30 days ago. Fields are counted while records are loaded.',
})}
${hasMore && html`<p class="note">Only the first ${maxFields} are shown; all are in <code>ops.field_drift</code>.</p>`}
${used.length > 0 && html`<dl class="facts">${used.map((news) => html`<dt>${news}</dt><dd>${words[news].meaning}</dd>`)}</dl>`}
<h2>Records that contradict themselves</h2>
${table({
  caption: 'Records that were loaded with a warning, by check; newest first',
  columns: ['Check', 'Stream', numbers('Records'), 'Newest'],
  rows: checks.map((row) => [
    html`<code>${row.check}</code>`,
    row.stream,
    html`<a href="/console/drift?stream=${encodeURIComponent(row.stream)}&check=${encodeURIComponent(row.check)}">${cappedText(row.records)}</a>`,
    instant(row.newestAt, zone),
  ]),
  empty: 'None. A warning goes when a later read of its record has the problem no more.',
})}`
}

/** Settings whose field newer answers do not have, and what to do. */
function drawMoved(moved: readonly MovedName[], { console, rooftops }: PageRequest['config']) {
  const names = new Map(rooftops.map(({ uid, name }) => [uid, name]))
  return html`<h2>Fields that moved</h2>
${movedTexts(moved).map(
  ({ names: fields, what, cure }) => html`<p>${what}. ${cure}</p>
${table({
  caption: what,
  columns: ['Setting', 'Was at', 'Probably at', 'Evidence', 'Rooftops', 'Since'],
  rows: fields.map((one) => [
    html`<code>${one.setting}</code>`,
    html`<code>${[one.configured].flat().join(', ')}</code>`,
    one.paths.length === 0
      ? 'not known'
      : one.paths.map((path) => html`<div><code>${path}</code></div>`),
    one.evidence,
    one.rooftops.map((uid) => names.get(uid)!).join(', '),
    instant(one.since, console!.timezone),
  ]),
  empty: 'None.',
})}`,
)}`
}

function drawWarnings(stream: string, warnings: readonly WarningRow[], { config }: PageRequest) {
  const zone = config.console!.timezone
  return table({
    caption: `The newest 50 records of ${stream} that were loaded with this warning`,
    columns: ['Record', 'Rooftop', 'What is wrong', 'Seen', 'Run'],
    rows: warnings.map(({ uid, rooftop, key, detail, seenAt, runId }) => [
      stream === 'stock-prices' ? key : evaluationLink(key, uid),
      rooftop ?? 'not known',
      detail,
      instant(seenAt, zone),
      html`<a href="/console/runs/${runId}">${runId}</a>`,
    ]),
    empty: 'No record has this warning now.',
  })
}
