import { utcText } from '../../values/instant.ts'
import { plural } from '../../values/text.ts'
import type { AlertStatus } from '../scheduler/alert-status.ts'

/** A line for each receiver of alerts that does not get its messages. */
export function alertLines(alerts: Readonly<Record<string, AlertStatus>>): string[] {
  return Object.entries(alerts).flatMap(
    ([name, { status, waiting, notSent, error, lastSentAt }]) => {
      if (status === 'ok' || status === 'never') return []
      const counts = [
        ...(notSent > 0 ? [`${plural(notSent, 'message')} not sent`] : []),
        ...(waiting > 0 ? [`${plural(waiting, 'message')} will be tried again`] : []),
      ]
      const last =
        lastSentAt === null ? 'none has arrived yet' : `the last arrived ${utcText(lastSentAt)}`
      return [
        `Alerts to ${name}: ${counts.join(', ')}: ${error}; ${last}. Correct it, then run "forecourt alerts test ${name}".`,
      ]
    },
  )
}
