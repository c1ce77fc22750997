import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import {
  listQuarantine,
  maxGrouped,
  type QuarantineCause,
  type QuarantineEntry,
  type QuarantineFilter,
  readCauses,
} from '../../../sync/explain/quarantine-list.ts'
import { readKnownRooftops } from '../../../sync/explain/run-history.ts'
import { countRetriable, maxRetried, retriableBy } from '../../../sync/records/retry-quarantined.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { firstText, plural } from '../../../values/text.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { definePage, type PageRequest } from '../page.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { actionButton, choice, filterForm, hiddenFields } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { countLink, link } from '../parts/link.ts'
import { olderLink, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'
import { noWorkerNote } from '../parts/workers.ts'
import { retryAction } from '../quarantine/retry.ts'

const path = '/quarantine'

/** Records that left quarantine longer ago are not shown: retention may have deleted them. */
const resolvedDays = ({ retention }: Config) => Math.min(90, retention.rawDays)

/** What the address says. `list`: the records instead of their causes. */
function readChoice(query: Readonly<Record<string, string>>) {
  const text = (name: string) => query[name] ?? ''
  const cause = /^[0-9a-f]{12}$/.test(text('cause')) ? text('cause') : ''
  const after = /^\d{1,15}$/.test(text('after')) ? text('after') : ''
  const [tab, list] = [text('tab') === 'resolved' ? 'resolved' : '', cause || text('list')]
  return { tab, stream: text('stream'), rooftop: text('rooftop'), cause, list, after }
}

type Chosen = ReturnType<typeof readChoice>

function quarantineFilter(
  { tab, stream, rooftop, cause }: Chosen,
  { config, now }: PageRequest,
): QuarantineFilter {
  const since = new Date(now.getTime() - resolvedDays(config) * 86_400_000)
  return {
    ...(tab === 'resolved' ? { resolvedSince: since } : {}),
    ...(stream === '' ? {} : { stream }),
    ...(rooftop === '' ? {} : { rooftop }),
    ...(cause === '' ? {} : { cause }),
  }
}

export const quarantine = definePage({
  path,
  title: 'Quarantine',
  question: 'What did not fit, why, and does it fit now?',
  roles: ['engineer', 'viewer'],
  navigation: 'Quarantine',
  async read(request) {
    const { db, query, config } = request
    const chosen = readChoice(query)
    const filter = quarantineFilter(chosen, request)
    const page = {
      ...({ order: 'newest', limit: pageSize } as const),
      ...(chosen.after === '' ? {} : { beyond: Number(chosen.after) }),
    }
    const isOpen = chosen.tab === ''
    const retriable = isOpen ? await countRetriable(db, config, allStreams, filter) : []
    return {
      ...{
        chosen,
        rooftops: await readKnownRooftops(db),
        ...(await readCauses(db, filter, retriableBy(config, allStreams))),
      },
      list: chosen.list === '' ? null : await listQuarantine(db, filter, page),
      retriable: retriable.reduce((sum, { records }) => sum + records, 0),
      processes: isOpen ? await readProcesses(db, config) : [],
    }
  },
  draw({ chosen, rooftops, causes, isCapped, list, retriable, processes }, { config, person }) {
    const zone = config.console!.timezone
    const names = new Map(rooftops.map(({ uid, name }) => [uid, name]))
    const mayRetry = person.role === 'engineer' && retriable > 0
    const days = plural(resolvedDays(config), 'day')
    return html`${tabs(chosen, days)}
${filters(chosen, rooftops)}
${chosen.cause !== '' && causeHeading(chosen, causes)}
${mayRetry && noWorkerNote(processes, { what: 'a retry', command: retryCommand(chosen) })}
${mayRetry && html`<p>${retryButton(chosen, retriable, true)} ${retriable > maxRetried && chosen.cause !== '' && `A retry reads at most ${maxRetried.toLocaleString('en')} of them.`}</p>`}
${isCapped && html`<p class="note">More than ${maxGrouped.toLocaleString('en')} records fit this filter: the causes are those of the newest.</p>`}
${list === null ? causeTable({ chosen, causes, names, zone, days, mayRetry: mayRetry && !isCapped }) : recordTable(chosen, list, names, zone)}`
  },
  actions: { retry: retryAction },
})

function tabs(chosen: Chosen, days: string): Html {
  const { stream, rooftop } = chosen
  const entry = (label: string, tab: string) => {
    const current = chosen.tab === tab ? html` aria-current="page"` : ''
    const query = new URLSearchParams({ ...(tab === '' ? {} : { tab }), stream, rooftop })
    return html`<li><a href="/console${path}?${query.toString()}"${current}>${label}</a></li>`
  }
  return html`<nav class="tabs" aria-label="Quarantine"><ul>${entry('Open', '')}${entry(`Resolved in ${days}`, 'resolved')}</ul></nav>`
}

function filters(
  { tab, stream, rooftop, cause }: Chosen,
  rooftops: readonly { readonly uid: string; readonly name: string }[],
): Html {
  const streams = Object.fromEntries(allStreams.map(({ name }) => [name, name]))
  const uids = Object.fromEntries(rooftops.map(({ uid, name }) => [uid, name]))
  const hidden = { ...(tab === '' ? {} : { tab }), ...(cause === '' ? {} : { cause }) }
  return filterForm(path, 'Which records', [
    hiddenFields(hidden),
    choice('Stream', 'stream', stream, { '': 'all', ...streams }),
    choice('Rooftop', 'rooftop', rooftop, { '': 'all', ...uids }),
  ])
}

function causeHeading(
  { tab, stream, rooftop }: Chosen,
  [cause]: readonly QuarantineCause[],
): Content {
  const back = link('All causes', path, { tab, stream, rooftop })
  if (cause === undefined) return html`<p>Nothing is left of this cause. ${back}</p>`
  return html`<h2><code>${cause.path}</code> ${cause.message}</h2><p>${back}</p>`
}

/** The command has no filter: it takes all, or the records by their numbers. */
function retryCommand({ stream, rooftop, cause }: Chosen): string {
  return `forecourt quarantine retry${stream + rooftop + cause === '' ? '' : ' <id> …'}`
}

/** The button that reads again what the filter finds. */
function retryButton({ stream, rooftop, cause }: Chosen, records: number, isMain = false): Html {
  const count = cause === '' ? records : Math.min(records, maxRetried)
  const label = `Retry ${plural(count, 'record')}`
  const fields = { ...{ stream, rooftop, cause, count: records } }
  return actionButton({ path, action: 'retry', label, fields, isMain })
}

interface CauseTable {
  readonly chosen: Chosen
  readonly causes: readonly QuarantineCause[]
  readonly names: ReadonlyMap<string, string>
  readonly zone: string
  /** How far back those that left quarantine are shown. */
  readonly days: string
  readonly mayRetry: boolean
}

function causeTable({ chosen, causes, names, zone, days, mayRetry }: CauseTable): Html {
  const { tab, stream, rooftop } = chosen
  const all = causes.reduce((sum, { records }) => sum + records, 0)
  const sum = html`<p>${plural(causes.length, 'cause')} of ${link(plural(all, 'record'), path, { tab, stream, rooftop, list: 1 })}</p>`
  return html`${causes.length > 0 && sum}${table({
    caption: 'Why records do not fit, the most frequent cause first',
    hidesCaption: true,
    columns: ['Cause', numbers('Records'), 'Streams', 'Rooftops', 'First seen', 'Last seen', ''],
    rows: causes.map((cause) => [
      html`<code>${cause.path}</code> ${cause.message}`,
      html`${countLink(cause.records, path, { tab, stream, rooftop, cause: cause.cause })}<small>newest: ${link(cause.newest, `${path}/${cause.newest}`)}</small>`,
      cause.streams.join(', '),
      firstText(
        cause.rooftops.map((uid) => names.get(uid) ?? uid),
        maxNamed,
      ),
      instant(cause.firstSeenAt, zone),
      instant(cause.lastSeenAt, zone),
      mayRetry && cause.retriable > 0
        ? retryButton({ ...chosen, cause: cause.cause }, cause.retriable)
        : '',
    ]),
    empty: emptyText(chosen, days),
  })}`
}

function emptyText({ tab, stream, rooftop }: Chosen, days: string): Content {
  if (stream !== '' || rooftop !== '')
    return html`Nothing fits this filter. ${link('Show everything', path, { tab })}.`
  return tab === 'resolved'
    ? `No record has left quarantine in ${days}.`
    : 'Nothing: every record that was read is in its tables.'
}

const maxNamed = 3

function recordTable(
  { after: _, ...chosen }: Chosen,
  { entries, hasMore }: Awaited<ReturnType<typeof listQuarantine>>,
  names: ReadonlyMap<string, string>,
  zone: string,
): Html {
  return html`${table({
    caption: `The newest first, ${pageSize} a page`,
    columns: ['Record', 'Stream', 'Rooftop', 'Why', numbers('Attempts'), 'First seen', 'Last seen'],
    rows: entries.map((entry) => [
      html`${link(entry.id, `${path}/${entry.id}`)} <small>${evaluationLink(entry.naturalKey, entry.rooftop)}</small>`,
      entry.stream,
      names.get(entry.rooftop) ?? entry.rooftop,
      issueLines(entry),
      entry.attempts,
      instant(entry.firstSeenAt, zone),
      instant(entry.lastSeenAt, zone),
    ]),
    empty: 'No record is left here.',
  })}${hasMore && olderLink(path, { ...chosen, after: entries.at(-1)!.id })}`
}

function issueLines({ issues }: QuarantineEntry): Content {
  const more = issues.length - maxNamed
  return html`${issues.slice(0, maxNamed).map(({ path: at, message }) => html`<div><code>${at}</code> ${message}</div>`)}${more > 0 && html`<small>and ${more} more</small>`}`
}
