import type { Log } from '../log.ts'
import { messageOf } from '../errors.ts'

/** What the receiver gets, as JSON by POST. */
export interface AlertMessage {
  readonly source: 'forecourt'
  /** The same from the first to the last message about one trouble. */
  readonly key: string
  readonly state: 'raised' | 'resolved'
  readonly what: string
  readonly since: string
  /** Only of state resolved. */
  readonly until?: string
  /** What to type to see more. */
  readonly look: string
}

const patienceMs = 10_000

/** Posts one message; false when it did not arrive. The address may hold a secret and is shown nowhere. */
export async function postAlert(url: string, message: AlertMessage, log: Log): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      redirect: 'error',
      signal: AbortSignal.timeout(patienceMs),
    })
    await answer.body?.cancel()
    if (answer.ok) return true
    log.warn({ alertKey: message.key }, `alerts.url answered with ${answer.status}`)
  } catch (error) {
    const { cause } = error as Error
    log.warn(
      { alertKey: message.key },
      `alerts.url cannot be reached: ${messageOf(cause ?? error)}`,
    )
  }
  return false
}
