import { sql } from 'kysely'
import { type Html, html } from '../../../values/html.ts'
import { listText } from '../../../values/text.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import {
  missedText,
  readLostCompletions,
  readWebhookStatus,
  type WebhookStatus,
} from '../../webhook/webhook-status.ts'
import { definePage } from '../page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { choice, filterForm } from '../parts/form.ts'
import { instant } from '../parts/instant.ts'
import { cutPage, idBefore, olderLink, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'

interface SubscriptionRow {
  readonly uid: string
  readonly rooftop: string
  readonly events: readonly string[]
  readonly since: Date
}

interface DeliveryRow {
  readonly id: number
  readonly event: string
  readonly uid: string | null
  readonly rooftop: string | null
  readonly evalId: number | null
  readonly state: string
  readonly outcome: string | null
  readonly issue: string | null
  readonly receivedAt: Date
  readonly attempts: number
  readonly runId: number | null
}

/** What the list of deliveries is limited to. */
const views = { problems: 'failed or unusable', waiting: 'waiting', all: 'all' } as const
type View = keyof typeof views

const stateTones: Readonly<Record<string, Tone>> = {
  ...{ processed: 'ok', kept: 'ok', waiting: 'quiet', unusable: 'warn', failed: 'bad' },
}

export const webhooks = definePage({
  path: '/webhooks',
  title: 'Webhooks',
  question: 'Do they arrive, how late, and which were lost?',
  roles: ['engineer', 'viewer'],
  navigation: 'Webhooks',
  async read({ db, query }) {
    const view: View =
      query['show'] === 'all' || query['show'] === 'waiting' ? query['show'] : 'problems'
    const subscriptions = await readSubscriptions(db)
    const figures = await readWebhookStatus(db)
    return {
      ...{ view, subscriptions, figures },
      lost: subscriptions.length === 0 ? [] : await readLostCompletions(db, 50),
      ...cutPage(await readDeliveries(db, view, idBefore(query['before']))),
    }
  },
  draw({ view, subscriptions, figures, lost, shown, hasMore }, { config }) {
    const zone = config.console!.timezone
    const names = new Map(config.rooftops.map(({ uid, name }) => [uid, name]))
    const { rooftops, unknownRooftop } = figures
    return html`${table({
      caption:
        'The last 7 days. Late: from the event until it arrived, and until it was loaded; half of them, and 95 of 100',
      columns: [
        'Rooftop',
        'Subscribed',
        ...['Received', 'Loaded', 'Waiting', 'Unusable', 'Failed', 'Lost'].map((name) =>
          numbers(name),
        ),
        ...[numbers('Arrived after'), numbers('Loaded after'), 'Last'],
      ],
      rows: Object.entries(rooftops).map(([uid, deliveries]) => [
        html`${names.get(uid) ?? uid}<small>${deliveries.duplicates > 0 && `${deliveries.duplicates} sent again`}</small>`,
        subscriptionText(subscriptions.find((one) => one.uid === uid)),
        ...[deliveries.received, deliveries.processed + deliveries.kept],
        html`<a href="/console/webhooks?show=waiting#deliveries">${deliveries.waiting}</a>`,
        ...[deliveries.unusable, deliveries.failed].map(
          (count) => html`<a href="/console/webhooks#deliveries">${count}</a>`,
        ),
        html`<a href="#lost">${missedText(deliveries)}</a>`,
        ...[deliveries.arrivalSeconds, deliveries.loadingSeconds].map(latencyText),
        instant(deliveries.lastReceivedAt, zone),
      ]),
      empty: html`No webhook has arrived, and none is subscribed. Set <code>webhooks.publicUrl</code> and run <code>forecourt webhooks apply</code>; nightly runs load everything without them, only later.`,
    })}
${unknownRooftop > 0 && html`<p>${badge(`${unknownRooftop} unknown`, 'warn')} Webhooks of the last 7 days that name no rooftop of the config: see those that are unusable.</p>`}
<h2 id="lost">Lost</h2>
${table({
  caption:
    'Evaluations completed in the last 7 days whose webhook did not arrive within 6 hours, newest first; at most 50',
  columns: ['Evaluation', 'Rooftop', 'Completed'],
  rows: lost.map((row) => [
    evaluationLink(row.evalId, row.rooftopUid),
    names.get(row.rooftopUid) ?? row.rooftopUid,
    instant(row.completedAt, zone),
  ]),
  empty: noneLost(rooftops, names),
})}
<h2 id="deliveries">Deliveries</h2>
${filterForm('/webhooks', 'Which deliveries', [choice('Show', 'show', view, views)])}
${table({
  caption: 'Newest first',
  columns: ['Received', 'Event', 'Evaluation', 'State', 'Run'],
  rows: shown.map((row) => [
    instant(row.receivedAt, zone, { seconds: true }),
    row.event,
    html`${evaluationLink(row.evalId, row.uid)}<small>${row.rooftop ?? 'no rooftop of the config'}</small>`,
    html`${badge(row.outcome === null ? row.state : `${row.state}: ${row.outcome}`, stateTones[row.state] ?? 'quiet')}<small>${row.issue}${row.attempts > 1 && ` ${row.attempts} attempts`}</small>`,
    row.runId === null ? '–' : html`<a href="/console/runs/${row.runId}">${row.runId}</a>`,
  ]),
  empty:
    view === 'all'
      ? 'None has arrived yet.'
      : html`None. <a href="/console/webhooks?show=all#deliveries">Show all deliveries</a>.`,
})}
${hasMore && olderLink('/webhooks', { show: view, before: shown.at(-1)!.id })}`
  },
})

/** Why no lost completion is listed. */
function noneLost(rooftops: WebhookStatus['rooftops'], names: ReadonlyMap<string, string>): string {
  const subscribed = Object.entries(rooftops).filter(([, { isSubscribed }]) => isSubscribed)
  if (subscribed.length === 0)
    return 'Nothing is subscribed that reports completions, so none can be lost.'
  const unknown = subscribed.filter(([, { missed }]) => missed === null)
  if (unknown.length === 0) return 'None: every completion was delivered in time.'
  const which = unknown.map(([uid]) => names.get(uid) ?? uid)
  return `Not known of ${listText(which, 3)}: no evaluations were listed there since they were subscribed, or in the last 7 days.`
}

function subscriptionText(found: SubscriptionRow | undefined): Html {
  if (found === undefined) return html`${badge('no', 'warn')}`
  return html`${badge('yes', 'ok')}<small>${found.events.join(', ')}</small>`
}

function latencyText({ p50, p95 }: WebhookStatus['rooftops'][string]['arrivalSeconds']): string {
  return p50 === null ? '–' : `${p50} s, ${p95} s`
}

async function readSubscriptions(db: Db): Promise<SubscriptionRow[]> {
  const { rows } = await sql<SubscriptionRow>`
    select rooftop_uid as uid, rooftop_name as rooftop, array_agg(event::text order by event) as events,
      min(since) as since
    from ops.webhook_subscription join core.rooftop using (rooftop_id) group by rooftop_uid, rooftop_name`.execute(
    db,
  )
  return rows
}

async function readDeliveries(db: Db, view: View, before: number): Promise<DeliveryRow[]> {
  const states = {
    problems: sql`state in ('failed', 'unusable')`,
    waiting: sql`state = 'waiting'`,
    all: sql`true`,
  }
  const { rows } = await sql<DeliveryRow>`
    select delivery_id as id, event, rooftop_uid as uid, rooftop_name as rooftop, eval_id as "evalId", state, outcome, issue,
      received_at as "receivedAt", attempts + not_shown as attempts, run_id as "runId"
    from ops.webhook_delivery left join core.rooftop using (rooftop_id)
    where delivery_id < ${before} and ${states[view]} order by delivery_id desc limit ${pageSize + 1}`.execute(
    db,
  )
  return rows
}
