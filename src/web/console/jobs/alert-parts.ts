import type { AlertStatus } from '../../../app/scheduler/alert-status.ts'
import { type Html, html } from '../../../values/html.ts'
import { plural } from '../../../values/text.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { instant } from '../parts/instant.ts'
import { table } from '../parts/table.ts'

const states: Readonly<Record<AlertStatus['status'], readonly [string, Tone]>> = {
  ok: ['ok', 'ok'],
  never: ['nothing sent yet', 'quiet'],
  retrying: ['tried again', 'warn'],
  failed: ['not sent', 'bad'],
}

/** Whether alerts reach their receivers. */
export function drawAlerts(
  alerts: Readonly<Record<string, AlertStatus>>,
  zone: string,
): Html | null {
  const receivers = Object.entries(alerts)
  if (receivers.length === 0) return null
  return html`<h2>Alerts</h2>
${table({
  caption: 'Whether alerts reach their receivers',
  hidesCaption: true,
  columns: ['Receiver', 'State', 'Last sent'],
  rows: receivers.map(([name, { status, waiting, notSent, error, lastSentAt }]) => [
    name,
    html`${badge(...states[status])}<small>${failureText(waiting + notSent, error)}</small>`,
    instant(lastSentAt, zone),
  ]),
  empty: 'No one gets alerts.',
})}`
}

function failureText(count: number, error: string | null): string {
  return error === null ? '' : `${plural(count, 'message')}: ${error}`
}
