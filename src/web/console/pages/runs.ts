import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import { listRuns, type RunSummary, readKnownRooftops } from '../../../sync/explain/run-history.ts'
import { type Html, html } from '../../../values/html.ts'
import { addDays, isDay, localDay, startOfDay } from '../../../values/instant.ts'
import { runStates } from '../../../values/names.ts'
import { otherSource } from '../../../warehouse/db/run-source.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { nightStrip, readStreamNights } from '../morning/nights.ts'
import { definePage } from '../page.ts'
import { choice, filterForm } from '../parts/form.ts'
import { durationText, shortInstant } from '../parts/instant.ts'
import { countLink, link } from '../parts/link.ts'
import { nightStrips, readNights } from '../parts/nights.ts'
import { olderLink, pageSize } from '../parts/pager.ts'
import { runBadge } from '../parts/run-state.ts'
import { numbers, table } from '../parts/table.ts'

/** Runs that were not ok are shown for so long, unless a day is chosen. */
const badDays = 14
const nightCount = 14

/** Values of the filter `status`. */
const statuses: Readonly<Record<string, string>> = {
  '': 'all',
  bad: 'running or not ok',
  ...Object.fromEntries(runStates.map((state) => [state, state])),
}

/** The commands of the newest runs, by name. */
async function readCommands(db: Db): Promise<string[]> {
  const { rows } = await sql<{ command: string }>`
    select distinct command from (select command from ops.run order by run_id desc limit 2000) as newest order by 1`.execute(
    db,
  )
  return rows.map(({ command }) => command)
}

/** What the address says; what it does not know counts as left out. */
function runFilter(query: Readonly<Record<string, string>>) {
  const text = (name: string) => query[name] ?? ''
  const status = Object.hasOwn(statuses, text('status')) ? text('status') : ''
  const from = isDay(text('from')) ? text('from') : ''
  const after = /^\d{1,15}$/.test(text('after')) ? text('after') : ''
  const [command, rooftop, stream] = [text('command'), text('rooftop'), text('stream')]
  return { status, command, rooftop, stream, from, after }
}

export const runs = definePage({
  path: '/runs',
  title: 'Runs',
  question: 'What ran, how did it end, and what did it do?',
  roles: ['engineer', 'viewer'],
  navigation: 'Runs',
  async read({ db, query, config, now }) {
    const zone = config.console!.timezone
    const filter = runFilter(query)
    const { status, command, rooftop, stream, from, after } = filter
    const rooftops = await readKnownRooftops(db)
    const named = rooftops.filter(({ uid }) => uid === rooftop)
    const isBad = status === 'bad'
    const since = from === '' && isBad ? addDays(localDay(now, zone), -badDays) : from
    const { runs: found, hasMore } = await listRuns(
      db,
      {
        ...(isBad ? { isNotOk: true } : status === '' ? {} : { statuses: [status] }),
        ...(since === '' ? {} : { since: startOfDay(since, zone) }),
        ...(command === '' ? {} : { commands: [command] }),
        ...(rooftop === '' ? {} : { rooftopIds: named.map(({ id }) => id) }),
        ...(stream === '' ? {} : { streams: [stream] }),
        ...(after === '' ? {} : { after: Number(after) }),
      },
      pageSize,
      'end',
    )
    const uids = config.rooftops.map(({ uid }) => uid)
    const span = { zone, now, count: nightCount }
    const nights = await readStreamNights(db, uids, span)
    const jobDays = await readNights(db, config, { zone, now })
    const commands = await readCommands(db)
    return { filter, rooftops, commands, runs: found, hasMore, nights, jobDays }
  },
  isLive: ({ runs: found }) => found.some(({ isAtWork }) => isAtWork),
  draw({ filter, rooftops, commands, runs: found, hasMore, nights, jobDays }, { config, now }) {
    const zone = config.console!.timezone
    const { after: _, ...chosen } = filter
    const named = (names: readonly string[]) =>
      Object.fromEntries(['', ...names].map((name) => [name, name === '' ? 'all' : name]))
    const uids = rooftops.map(({ uid, name }) => [uid, name])
    return html`<h2>Nights</h2>
<p class="note">How the streams of all rooftops ended, day by day:</p>
${nightStrip(nights)}
${nightStrips(jobDays, zone, now)}
<h2>The runs</h2>
${filterForm('/runs', 'Which runs', [
  choice('Status', 'status', filter.status, statuses),
  choice('Command', 'command', filter.command, named(commands)),
  choice('Rooftop', 'rooftop', filter.rooftop, { '': 'all', ...Object.fromEntries(uids) }),
  choice('Stream', 'stream', filter.stream, named(allStreams.map(({ name }) => name))),
  html`<label>Ended since <input type="date" name="from" value="${filter.from}"></label>`,
])}
${table({
  caption:
    filter.status === 'bad'
      ? `Running, or not ok in the last ${badDays} days; the newest end first`
      : 'The newest end first',
  columns: [
    ...['Run', 'Ended', 'Rooftops'],
    ...['Inserted', 'Updated', 'Quarantined', 'Requests'].map(numbers),
    'Worst reason',
  ],
  onPhone: ['Ended', 'Rooftops', 'Inserted', 'Updated', 'Quarantined', 'Worst reason'],
  rows: found.map((run) => [
    html`${link(`${run.runId} ${run.command}`, `/runs/${run.runId}`)} ${runBadge(run)}${readsOther(run, config)}<small>${run.lane}</small>`,
    html`${run.finishedAt === null ? 'not yet' : shortInstant(run.finishedAt, zone, now)}<small>${run.finishedAt === null ? 'for' : 'took'} ${durationText(run.seconds)}</small>`,
    rooftopsText(run),
    ...[run.counts.inserted, run.counts.updated].map((count) => count.toLocaleString('en')),
    countLink(run.counts.quarantined, '/quarantine'),
    html`${run.counts.requests.toLocaleString('en')}${run.counts.saved > 0 && html`<small>${run.counts.saved.toLocaleString('en')} saved</small>`}`,
    run.firstError ?? (run.counts.quarantined > 0 ? 'records in quarantine' : ''),
  ]),
  empty: emptyText(filter),
})}
${hasMore && olderLink('/runs', { ...chosen, after: found.at(-1)!.runId }, 'Older runs')}`
  },
})

/** The services, where they are not those of the config. */
function readsOther({ source }: RunSummary, config: Config): Html | null {
  const other = otherSource(source, config)
  return other === null ? null : html`<small>reads ${other}</small>`
}

/** How many rooftops went how: `4 ok, 1 partial, 1 failed`. */
function rooftopsText({ rooftops: { ok, incomplete, failed, open } }: RunSummary): string {
  const parts = [
    [ok, 'ok'],
    [incomplete - failed, 'partial'],
    [failed, 'failed'],
    [open, 'open'],
  ] as const
  const text = parts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []))
  return text.length === 0 ? 'none' : text.join(', ')
}

function emptyText({
  status,
  command,
  rooftop,
  stream,
  from,
  after,
}: ReturnType<typeof runFilter>) {
  if (after !== '') return html`There are no older runs.`
  if ([command, rooftop, stream, from].some((value) => value !== ''))
    return html`No run fits this filter. ${link('Show all runs', '/runs')}.`
  if (status === 'bad')
    return html`Every run of the last ${badDays} days ended well, and none is running. ${link('Show all runs', '/runs')}.`
  return html`There is no such run yet: start one with <code>forecourt sync</code>.`
}
