import { type Content, type Html, html } from '../../../values/html.ts'
import { lines, type Point } from '../charts/lines.ts'
import { chartFigure } from '../charts/plot.ts'
import { badge } from '../parts/badge.ts'
import { actionButton } from '../parts/form.ts'
import { instant, instantText } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'
import {
  maxChanges,
  type PayloadChanges,
  type ShownChange,
  type StoredPayload,
} from './payloads.ts'
import type { EvaluationData, Known, Unknown } from './read.ts'

type Fact = Readonly<Record<string, unknown>>

/** What drawing an evaluation needs besides its data. */
interface Sheet {
  readonly zone: string
  readonly mayReveal: boolean
  readonly now: Date
  readonly rawDays: number
}

/** An evaluation in the order of its way: window, payloads, row, versions, prices, checks, webhooks, quarantine, links, next read. */
export function drawKnown(data: Known, sheet: Sheet): Html {
  const { entry, evalId, rooftop, others } = data
  const at = (value: unknown) => instant((value ?? null) as Date | null, sheet.zone)
  return html`<p>${rooftop.name}. Times in ${sheet.zone}.${others.map((other) => html` The same number is also at <a href="/console/evaluations/${evalId}?rooftop=${encodeURIComponent(other.uid)}">${other.name}</a>.`)}</p>
${drawState(data, at)}
<h2>Listed</h2>
${drawWindow(entry.window, at)}
<h2>Payloads</h2>
${drawPayloads(data, sheet)}
<h3 id="changes">What changed between two payloads</h3>
${drawChanges(data)}
<h2>Row</h2>
${drawRow(entry.row, at)}
<h2>Versions</h2>
${table({
  caption: 'What each version changed, oldest first',
  hidesCaption: true,
  columns: [numbers('Version'), 'Valid from', 'Observed', 'Changed', numbers('Final price'), 'Run'],
  rows: entry.versions.map((one) => [
    text(one['version_no']),
    at(one['valid_from']),
    at(one['observed_at']),
    (one['changed_fields'] as string[]).join(', ') || 'first version',
    amountText(one['final_price']),
    runLink(one),
  ]),
  empty: 'None: it was never loaded.',
})}
<h2>Prices</h2>
${drawPrices(data, sheet)}
${drawRest(data, at)}
<h2>Next read</h2>
<dl class="facts">${data.notes.map((note) => html`<dt>${note.name}</dt><dd>${note.text}</dd>`)}</dl>
${table({
  caption: 'What other streams ask about it',
  columns: ['Request', 'Last asked', 'Outcome', 'Due again'],
  rows: entry.asked.map((one) => [
    html`<code>/${text(one['ask'])}</code>`,
    at(one['last_asked_at']),
    html`${text(one['outcome'])}<small>${one['detail'] !== null && text(one['detail'])}</small>`,
    one['next_due_at'] === null ? 'not again, unless it changes' : at(one['next_due_at']),
  ]),
  empty: 'Nothing has been asked about it yet.',
})}`
}

type At = (value: unknown) => Html

/** The number with its state; where several rooftops have the number, without. */
export function drawHead(data: EvaluationData): Html {
  return html`<h1>Evaluation ${data.evalId}${data.is !== 'choice' && html` ${stateBadge(data)}`}</h1>`
}

function stateBadge(data: Known | Unknown): Html {
  if (data.is === 'unknown') return badge('unknown', 'warn')
  const { row, vanished, quarantine } = data.entry
  const isOpen = quarantine.some((one) => one['resolved_at'] === null)
  if (vanished !== null) return badge('vanished', 'bad')
  if (isOpen) return badge('in quarantine', 'warn')
  return row === null ? badge('not loaded', 'warn') : badge('loaded', 'ok')
}

/** What is unusual about it, in a sentence each. */
function drawState({ entry, payloads }: Known, at: At): Html {
  const { row, vanished, quarantine, customerErasedAt } = entry
  const reasons = {
    'not found': 'the service answers that it does not know it',
    'not listed': 'the list of its window no longer shows it',
  }
  const reason = reasons[vanished?.['reason'] as keyof typeof reasons]
  const isOpen = quarantine.some((one) => one['resolved_at'] === null)
  const isNotLoaded = row === null && vanished === null
  return html`${vanished !== null && html`<p><strong>Vanished since ${at(vanished['vanished_at'])}:</strong> ${reason}, found by run ${runLink(vanished)}. Its row, if it had one, stays and is marked.</p>`}
${isNotLoaded && html`<p><strong>Listed, but not loaded:</strong> ${isOpen ? 'its record is in quarantine, see below' : 'the next run that lists its window reads it'}.</p>`}
${row !== null && isOpen && html`<p><strong>The newest answer is in quarantine:</strong> the row is from the read before.</p>`}
${row !== null && payloads.length === 0 && html`<p><strong>No payload is stored</strong>, so this row cannot be built again by <code>forecourt replay</code>.</p>`}
${customerErasedAt !== null && html`<p><strong>Its customer was erased</strong> on ${at(customerErasedAt)} and is left out of every read.</p>`}`
}

function drawWindow(window: Fact | null, at: At): Html {
  if (window === null)
    return html`<p class="empty">No certificate covers its time: its window was not listed yet, or it came by a webhook.</p>`
  return html`<dl class="facts"><dt>Window</dt><dd>${at(window['window_from'])} to ${at(window['window_until'])}, by run ${runLink(window)}</dd>
<dt>Listed</dt><dd>${at(window['listed_at'])}, ${window['settled'] === true ? badge('settled', 'ok') : badge('not settled yet', 'quiet')}</dd>
<dt>Proof</dt><dd>${text(window['proof'])}</dd>
<dt>Counts</dt><dd>${text(window['listed'])} listed = ${text(window['loaded'])} loaded + ${text(window['quarantined'])} quarantined + ${text(window['vanished'])} vanished</dd></dl>`
}

function drawPayloads({ payloads, entry, evalId, rooftop }: Known, sheet: Sheet): Html {
  const read = payloads.filter(({ endpoint }) => endpoint === 'geteval').length
  const isCut = entry.versions.length > Math.max(read, 1)
  return html`${table({
    caption: 'Answers as they came; a new one only when the content changed',
    columns: ['Request', 'Read', numbers('Bytes'), 'Run', ...(sheet.mayReveal ? [''] : [])],
    rows: payloads.map((one) => [
      html`<code>/${one.endpoint}</code>`,
      instant(one.fetchedAt, sheet.zone, { seconds: true }),
      one.bytes.toLocaleString('en'),
      runLink({ run_id: one.runId }),
      ...(sheet.mayReveal
        ? [
            actionButton({
              ...{
                path: `/evaluations/${evalId}`,
                action: 'reveal',
                label: 'Show once, with its customer',
              },
              fields: { rooftop: rooftop.uid, payload: one.id },
            }),
          ]
        : []),
    ]),
    empty: 'None is stored.',
  })}
${isCut && html`<p class="note">Payloads that a newer one replaced are deleted ${sheet.rawDays} days after they were read (<code>retention.rawDays</code>): ${entry.versions.length} versions, ${read} payloads left.</p>`}`
}

function drawRow(row: Fact | null, at: At): Html {
  if (row === null)
    return html`<p class="empty">There is no row in <code>core.evaluation</code>.</p>`
  const amount =
    row['final_price'] === null
      ? '–'
      : `${amountText(row['final_price'])} ${text(row['currency_code'])}`
  return html`<dl class="facts"><dt>Car</dt><dd>${[row['make'], row['model'], row['vin']]
    .filter((part) => part !== null)
    .map(String)
    .join(' ')}</dd>
<dt>Final price</dt><dd>${amount}</dd>
<dt>Photos</dt><dd>${text(row['photo_count'])}</dd>
<dt>Created</dt><dd>${at(row['created_at'])}</dd>
<dt>Completed</dt><dd>${at(row['completed_at'])}</dd>
<dt>Updated at the source</dt><dd>${at(row['source_updated_at'])}</dd>
<dt>First loaded</dt><dd>${at(row['first_loaded_at'])}</dd>
<dt>Last changed</dt><dd>${at(row['last_changed_at'])}, version ${text(row['version_no'])}, by run ${runLink(row)}</dd></dl>`
}

function drawPrices({ entry, evalId }: Known, { zone, now }: Sheet): Html {
  const { prices, versions, row } = entry
  const points = (facts: readonly Fact[], time: string, name: string): Point[] =>
    facts.map((one) => ({
      at: one[time] as Date,
      value: one[name] === null ? null : Number(one[name]),
    }))
  const drawn = [
    { name: 'AI retail', points: points(prices, 'observed_at', 'retail') },
    { name: 'AI wholesale', points: points(prices, 'observed_at', 'wholesale') },
    { name: 'Final price', points: points(versions, 'valid_from', 'final_price') },
  ].filter((line) => line.points.some(({ value }) => value !== null))
  if (drawn.length === 0)
    return html`<p class="empty">No price of it is known: the pricing AI has given none, and it has no final price.</p>`
  return html`${chartFigure(
    lines({
      title: `Prices of evaluation ${evalId}, by days in UTC`,
      unit: String(prices[0]?.['currency_code'] ?? row?.['currency_code'] ?? ''),
      ...{ lines: drawn, kind: 'steps', until: now },
      timeText: (at) => instantText(at, zone),
    }),
  )}
${table({
  caption: 'Answers of the pricing AI, oldest first; a new one only when a price changed',
  columns: [
    'Observed',
    'Confirmed until',
    numbers('Retail'),
    numbers('Wholesale'),
    'Confidence',
    'Run',
  ],
  rows: prices.map((one) => [
    instant(one['observed_at'] as Date, zone),
    instant(one['last_confirmed_at'] as Date, zone),
    amountText(one['retail']),
    amountText(one['wholesale']),
    text(one['confidence']),
    runLink(one),
  ]),
  empty: 'The pricing AI has given no price.',
})}`
}

/** Checks, watches, webhooks, quarantine and links. */
function drawRest({ entry, rooftop }: Known, at: At): Content {
  const { checks, watches, webhooks, quarantine } = entry
  const linked = checks.filter((one) => one['expires_at'] !== null)
  return [
    html`<h2>Checks and watches</h2>
${table({
  caption: 'Checks of its vehicle in the dealer group',
  hidesCaption: true,
  columns: ['Check', 'Searched', 'Watch', 'Watch ends', 'Run'],
  rows: checks.map((one) => [
    html`${text(one['check_kind'])} ${text(one['check_ref'])}${one['gone_at'] !== null && html`<small>no longer listed since ${at(one['gone_at'])}</small>`}`,
    at(one['searched_at']),
    html`${text(one['watch_status'])}${watches.filter((change) => change['check_ref'] === one['check_ref'] && change['check_kind'] === one['check_kind']).map((change) => html`<small>${at(change['observed_at'])}: ${text(change['to_status'])}</small>`)}`,
    at(one['watch_ends_at']),
    runLink(one),
  ]),
  empty: 'No check of its vehicle is known.',
})}`,
    html`<h2>Webhooks received</h2>
${table({
  caption: 'Deliveries that named it; each makes it read again',
  hidesCaption: true,
  columns: ['Received', 'Event', 'State', 'Loaded', 'Run'],
  rows: webhooks.map((one) => [
    at(one['received_at']),
    text(one['event']),
    html`${text(one['state'])}${one['outcome'] !== null && `: ${text(one['outcome'])}`}<small>${one['issue'] === null ? '' : text(one['issue'])}</small>`,
    at(one['processed_at']),
    runLink(one),
  ]),
  empty: 'None that is stored has named it.',
})}`,
    html`<h2>Quarantine</h2>
${table({
  caption: 'Answers about it that did not fit',
  hidesCaption: true,
  columns: ['Record', 'What did not fit', numbers('Attempts'), 'First seen', 'Resolved', 'Run'],
  rows: quarantine.map((one) => [
    html`<a href="/console/quarantine/${text(one['quarantine_id'])}">${text(one['stream'])} ${text(one['natural_key'])}</a>`,
    issuesText(one['issues']),
    text(one['attempts']),
    at(one['first_seen_at']),
    one['resolved_at'] === null ? badge('open', 'warn') : at(one['resolved_at']),
    runLink(one),
  ]),
  empty: 'None: every answer about it fits.',
})}`,
    html`<h2>Links</h2>
${table({
  caption:
    'Permalinks of serve; each opens the newest link of its PDF, with the token of links.token',
  columns: ['Permalink', 'Signed', 'Expires'],
  rows: linked.map((one) => [
    html`<code>/links/${text(one['check_kind'])}_pdf/${text(one['check_ref'])}?rooftop=${encodeURIComponent(rooftop.uid)}</code>`,
    at(one['signed_at']),
    at(one['expires_at']),
  ]),
  empty: 'None: no check of its vehicle has a PDF.',
})}`,
  ]
}

function issuesText(issues: unknown): string {
  if (!Array.isArray(issues)) return '–'
  const all = issues as readonly { readonly path: string; readonly message: string }[]
  const first = all.slice(0, 3).map(({ path, message }) => `${path}: ${message}`)
  return `${first.join('; ')}${all.length > 3 ? `; ${all.length - 3} more` : ''}`
}

function runLink(fact: Fact): Content {
  const id = fact['run_id']
  return id === null || id === undefined
    ? '–'
    : html`<a href="/console/runs/${String(id)}">${String(id)}</a>`
}

/** An amount of money; Postgres sends it as text with three decimals. */
function amountText(value: unknown): string {
  return value === null || value === undefined ? '–' : Number(value).toLocaleString('en')
}

function text(value: unknown): string {
  return value === null || value === undefined ? '–' : String(value)
}

/** What changed between two payloads, and a form that chooses two others. */
function drawChanges({ payloads, changes, evalId, rooftop }: Known): Html {
  if (payloads.length === 0)
    return html`<p class="empty">No payload is stored: none has been read yet, or it was erased.</p>`
  const several = payloads.some((one) => payloads.some((other) => isAfter(other, one)))
  if (!several)
    return html`<p class="empty">There is one payload of each request, so there is nothing to compare. A payload is stored again only when its content has changed.</p>`
  return html`<form class="filter" action="/console/evaluations/${evalId}#changes" aria-label="Which payloads"><input type="hidden" name="rooftop" value="${rooftop.uid}">${chooser('From', 'old', changes?.old, payloads, rooftop.timeZone)} ${chooser('To', 'new', changes?.new, payloads, rooftop.timeZone)} <button>Compare</button></form>
${changes === null ? html`<p class="empty">Choose two payloads of the same request, the older first.</p>` : drawTable(changes)}`
}

function isAfter(one: StoredPayload, other: StoredPayload): boolean {
  return one.endpoint === other.endpoint && one.fetchedAt > other.fetchedAt
}

function chooser(
  label: string,
  name: string,
  chosen: string | undefined,
  payloads: readonly StoredPayload[],
  zone: string,
): Html {
  return html`<label>${label} <select name="${name}">${payloads.map(
    ({ id, endpoint, fetchedAt }) =>
      html`<option value="${id}"${id === chosen ? html` selected` : ''}>${endpoint}, ${instantText(fetchedAt, zone, { seconds: true })}</option>`,
  )}</select></label>`
}

function drawTable({ shown, count }: PayloadChanges): Html {
  return html`${table({
    caption: `${count.toLocaleString('en')} ${count === 1 ? 'change' : 'changes'}; signatures of links are left out`,
    columns: ['Where', 'Old', 'New', 'Feeds'],
    rows: shown.map((change) => [
      html`<code>${change.path}</code>`,
      ...changeCells(change),
      change.column === null ? 'the payload alone' : html`<code>${change.column}</code>`,
    ]),
    empty:
      'Nothing but signatures of links, which are new at every read, or the order of the fields.',
  })}
${count > shown.length && html`<p class="note">Only the first ${maxChanges} of ${count.toLocaleString('en')} changes are shown.</p>`}`
}

function changeCells({ kind, isHidden, old, new: next }: ShownChange): (Html | string)[] {
  const words = { changed: 'changed', added: 'added', removed: 'removed', order: 'order' }
  if (isHidden) return [html`<em>hidden, ${words[kind]}</em>`, '']
  if (kind === 'added') return ['', html`<ins>+ ${next}</ins>`]
  if (kind === 'removed') return [html`<del>− ${old}</del>`, '']
  if (kind === 'order') return [html`order: ${old}`, html`order: ${next}`]
  return [old ?? '', next ?? '']
}
