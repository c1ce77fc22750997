import type { WebhookStatus } from '../../web/webhook/webhook-status.ts'
import { table } from './table.ts'

/** The webhooks of the last 7 days for a person; no line where there are none. */
export function webhookLines(
  { rooftops, unknownRooftop }: WebhookStatus,
  label: (uid: string) => string,
): string[] {
  const seconds = (value: number | null) => (value === null ? '-' : `${value} s`)
  const rows = Object.entries(rooftops).map(([uid, deliveries]) => [
    label(uid),
    deliveries.received,
    deliveries.duplicates,
    deliveries.processed,
    deliveries.waiting,
    deliveries.unusable,
    deliveries.failed,
    deliveries.missed,
    seconds(deliveries.arrivalSeconds.p95),
    seconds(deliveries.loadingSeconds.p95),
  ])
  const headings = ['rooftop', 'received', 'doubles', 'processed', 'waiting', 'unusable', 'failed']
  return [
    ...(rows.length > 0
      ? [
          'Webhooks of the last 7 days:',
          ...table([...headings, 'missed', 'arrived within', 'loaded within'], rows),
        ]
      : []),
    ...(unknownRooftop > 0
      ? [`Webhooks that name no rooftop of the config: ${unknownRooftop} (ops.webhook_delivery)`]
      : []),
  ]
}
