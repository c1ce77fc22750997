import { allStreams } from '../../../streams/all.ts'
import { type QuarantineDetail, showQuarantine } from '../../../sync/explain/quarantine-list.ts'
import { readKnownRooftops } from '../../../sync/explain/run-history.ts'
import { countRetriable } from '../../../sync/records/retry-quarantined.ts'
import { type Content, type Html, html } from '../../../values/html.ts'
import { isTooDeep } from '../../../values/json-depth.ts'
import { jsonValue } from '../../../values/json-value.ts'
import { plural } from '../../../values/text.ts'
import type { AppraisalWire } from '../../../values/wire.ts'
import { readProcesses } from '../../../warehouse/db/processes.ts'
import { definePage, parseId } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { actionButton } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { link } from '../parts/link.ts'
import { table } from '../parts/table.ts'
import { noWorkerNote } from '../parts/workers.ts'
import { maskRecord } from '../payload/mask.ts'
import { buildTree, drawTree, type PayloadNode } from '../payload/tree.ts'
import { retryRecords } from '../quarantine/retry.ts'

const path = '/quarantine/:id'

/** A larger payload is not shown. */
const maxCharacters = 1_000_000

/** A payload as it may be shown; or why it is not. */
type ShownPayload =
  | { readonly root: PayloadNode; readonly left: number }
  | { readonly reason: string }

function shownPayload(
  { payload, characters, issues, ...name }: QuarantineDetail,
  wire: AppraisalWire,
): ShownPayload {
  if (characters === 0) return { reason: 'None was received.' }
  if (payload === null)
    return {
      reason: `It has ${characters.toLocaleString('en')} characters: too many to show here.`,
    }
  const body = jsonValue(payload)
  if (body === undefined)
    return {
      reason: 'It is not JSON, so nothing says which part of it is a customer: it is not shown.',
    }
  if (isTooDeep(body)) return { reason: 'It is nested too deeply to be shown.' }
  return buildTree(maskRecord(body, name, wire), issues)
}

export const quarantined = definePage({
  path,
  question: 'Why does this record not fit?',
  roles: ['engineer', 'viewer'],
  async read({ db, params, config }) {
    const id = parseId(params)
    const found = id === null ? null : await showQuarantine(db, id, maxCharacters)
    if (found === null) return null
    const { payload: _, ...record } = found
    const retriable = await countRetriable(db, config, allStreams, { ids: [record.id] })
    const rooftops = await readKnownRooftops(db)
    return {
      record,
      rooftopName: rooftops.find(({ uid }) => uid === record.rooftop)?.name ?? record.rooftop,
      payload: shownPayload(found, config.wire.appraisal),
      isRetriable: retriable.length > 0,
      processes: retriable.length > 0 ? await readProcesses(db, config) : [],
    }
  },
  title: ({ record: { id } }) => `Quarantine ${id}`,
  head: ({ record: { id, resolvedAt } }) =>
    html`<h1>Quarantine ${id} ${resolvedAt === null ? badge('open', 'warn') : badge('resolved', 'ok')}</h1>`,
  draw({ record, rooftopName, payload, isRetriable, processes }, { config, person }) {
    const zone = config.console!.timezone
    const { id, stream, rooftop, resolvedAt } = record
    const mayRetry = isRetriable && person.role === 'engineer'
    const retry = { path: `/quarantine/${id}`, action: 'retry', label: 'Retry this record' }
    return html`<p>${link('All records of this stream and rooftop', '/quarantine', { stream, rooftop })}</p>
${mayRetry && noWorkerNote(processes, { what: 'a retry', command: `forecourt quarantine retry ${id}` })}
${mayRetry && html`<p>${actionButton({ ...retry, fields: { count: 1 }, isMain: true })}</p>`}
${!isRetriable && resolvedAt === null && html`<p class="note">${whyNot(record)}</p>`}
<div class="columns"><section><h2>What is wrong</h2>
${table({
  caption: 'Where the record does not fit, and why',
  hidesCaption: true,
  columns: ['Path', 'Issue'],
  rows: record.issues.map((issue) => [html`<code>${issue.path}</code>`, issue.message]),
  empty: 'No reason was stored.',
})}
${facts(record, rooftopName, zone)}</section>
<section><h2>As received</h2>
${drawPayload(payload, id)}</section></div>`
  },
  actions: {
    retry: {
      roles: ['engineer'],
      run: async (request) => await retryRecords(request, { ids: [parseId(request.params) ?? 0] }),
    },
  },
})

function whyNot({ naturalKey }: { readonly naturalKey: string }): string {
  return naturalKey.startsWith('item ')
    ? 'This item of a list names no record, so it cannot be read by itself: the next sync lists its window again.'
    : 'It cannot be read by itself: its stream reads everything again in the next run, or its rooftop is not in the config.'
}

function facts(record: Omit<QuarantineDetail, 'payload'>, rooftop: string, zone: string): Html {
  const { windowFrom, windowUntil, runId, resolvedAt } = record
  const window: Content =
    windowFrom === null || windowUntil === null
      ? 'none: no window listed it'
      : html`${instant(windowFrom, zone)} to ${instant(windowUntil, zone)}`
  const rows: (readonly [string, Content])[] = [
    ['Stream', record.stream],
    ['Rooftop', rooftop],
    ['Record', evaluationLink(record.naturalKey, record.rooftop)],
    ['Window', window],
    ['Attempts', record.attempts],
    ['Last attempt', link(`run ${runId}`, `/runs/${runId}`)],
    ['First seen', instant(record.firstSeenAt, zone)],
    ['Last seen', instant(record.lastSeenAt, zone)],
    ['Resolved', resolvedAt === null ? 'not yet' : instant(resolvedAt, zone)],
  ]
  return html`<h2>Facts</h2><dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

function drawPayload(payload: ShownPayload, id: number): Html {
  const command = html`<p class="note">Customers are hidden, and links lose what they are signed with. <code>forecourt quarantine show ${id}</code> prints the whole.</p>`
  if ('reason' in payload) return html`<p>${payload.reason}</p>${command}`
  const { root, left } = payload
  return html`${drawTree(root)}${left > 0 && html`<p>${plural(left, 'part')} more are left out.</p>`}${command}`
}
