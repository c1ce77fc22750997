import { type Html, html } from '../../../values/html.ts'
import { localDay } from '../../../values/instant.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

function instantFormat(zone: string, seconds: boolean): Intl.DateTimeFormat {
  const name = `${zone} ${seconds}`
  let format = formats.get(name)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-AU', {
      ...{ timeZone: zone, day: 'numeric', month: 'short', year: 'numeric', hourCycle: 'h23' },
      ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
      ...(seconds ? { second: '2-digit' } : {}),
    })
    formats.set(name, format)
  }
  return format
}

/** An instant as text, with its zone: `22 Nov 2026, 02:10 AEDT`. */
export function instantText(at: Date, zone: string, { seconds = false } = {}): string {
  return instantFormat(zone, seconds).format(at)
}

/** An instant with its zone; a program finds it in the attribute. null: a dash. */
export function instant(at: Date | string | null, zone: string, options = {}): Html {
  if (at === null) return html`–`
  const date = typeof at === 'string' ? new Date(at) : at
  return html`<time datetime="${date.toISOString()}">${instantText(date, zone, options)}</time>`
}

/** An instant in a sentence: without its day where that is today, `02:10 AEDT`. */
export function shortInstant(at: Date, zone: string, now: Date): Html {
  if (localDay(at, zone) !== localDay(now, zone)) return instant(at, zone)
  const text = instantText(at, zone).replace(/^.*?, /, '')
  return html`<time datetime="${at.toISOString()}">${text}</time>`
}

/** How long, in the largest unit that fits: `4 h`, `3 days`. */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

/** How long before `now` an instant was: `4 h ago`; for one that is to come, `in 4 h`. */
export function agoText(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000
  return seconds < 0 ? `in ${durationText(-seconds)}` : `${durationText(seconds)} ago`
}
