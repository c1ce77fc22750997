import type { Config } from '../../../app/config/read.ts'
import type { KeyState } from '../../../sync/run/key-states.ts'
import { type Content, html } from '../../../values/html.ts'
import { refusalCure, refusalText, whereRefused } from '../../morning/key-words.ts'
import { badge } from './badge.ts'
import { agoText, instant } from './instant.ts'

/** Where and when a key is shown. */
interface KeyContext {
  readonly config: Config
  readonly zone: string
  readonly now: Date
}

/** Whether the key is refused, blocked, slowed down, or open; then the streams whose quota is used up. */
export function keyStateText(state: KeyState, context: KeyContext): Content {
  return html`${oneState(state, context)}${state.parked.map(({ stream, until, reason }) => html`<div>${badge('parked', 'warn')} ${stream}: its daily quota is used up until ${instant(until, context.zone)}<small>${reason}</small></div>`)}`
}

function oneState(state: KeyState, { config, zone, now }: KeyContext): Content {
  const { refusal, rate, throttledAt, blockedUntil } = state
  if (refusal !== null)
    return html`${badge('refused', 'bad')} since ${instant(refusal.since, zone, { seconds: true })}, ${whereRefused(refusal)}
<div>${refusalText(refusal)}; the last good answer: ${refusal.goodAt === null ? 'none' : instant(refusal.goodAt, zone, { seconds: true })}.</div>
<div>${refusalCure(state, config)}</div>`
  if (blockedUntil !== null)
    return html`${badge('blocked', 'warn')} until ${instant(blockedUntil, zone, { seconds: true })}, as the source asked`
  if (throttledAt === null || rate === null)
    return html`${badge('open', 'ok')} not refused, never slowed down`
  return html`${badge('slowed down', 'quiet')} ${agoText(throttledAt, now)}: cut to ${rate.toFixed(1)} requests a second, and rising since`
}
