import type { Config } from '../config/read.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'

/** The message about one problem; with format json, the body of the request. */
export interface AlertMessage {
  readonly source: 'forecourt'
  /** The same in all messages about one problem. */
  readonly key: string
  readonly state: 'raised' | 'resolved'
  readonly what: string
  readonly since: string
  /** Only of state resolved. */
  readonly until?: string
  /** The command that shows more. */
  readonly look: string
}

const timeoutMs = 10_000

/** The request's body, in a format that the receiver accepts. */
const bodies: Readonly<Record<Config['alerts']['format'], (message: AlertMessage) => unknown>> = {
  json: (message) => message,
  slack: slackBody,
  teams: teamsBody,
}

/** Posts one message; false when it did not arrive. The address may hold a secret and is shown nowhere. */
export async function postAlert(
  { url, format }: Config['alerts'],
  message: AlertMessage,
  log: Log,
): Promise<boolean> {
  try {
    const answer = await fetch(url!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodies[format](message)),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
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

const titleOf = ({ state }: AlertMessage) =>
  state === 'raised' ? 'Forecourt: problem' : 'Forecourt: resolved'

function factsOf({ since, until, look }: AlertMessage): [string, string][] {
  return [
    ['Since', timeText(since)],
    ...(until === undefined ? [] : [['Until', timeText(until)] as [string, string]]),
    ['See', look],
  ]
}

function timeText(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

/** The body for an incoming webhook of Slack, which shows the blocks, and `text` in the notification. A section: 3,000 characters. */
function slackBody(message: AlertMessage) {
  // Slack requires these three to be escaped; without them a text can hold no link or mention.
  const plain = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const what = plain(message.what)
  const facts = factsOf(message).map(([name, value]) => `${name}: ${plain(value)}`)
  return {
    text: `${titleOf(message)}: ${what}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*${titleOf(message)}*\n${what}` } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: facts.join('  |  ') }] },
    ],
  }
}

/** An Adaptive Card, for the webhooks of Teams (Workflows and the older connectors). */
function teamsBody(message: AlertMessage) {
  // A text block is Markdown: the name of a stream or a path must not become a list or a link.
  const plain = (text: string) => text.replaceAll(/[\\`*_[\]#]/g, '\\$&')
  const color = message.state === 'raised' ? 'attention' : 'good'
  return {
    type: 'message',
    summary: titleOf(message),
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'TextBlock', text: titleOf(message), weight: 'bolder', size: 'medium', color },
            { type: 'TextBlock', text: plain(message.what), wrap: true },
            {
              type: 'FactSet',
              facts: factsOf(message).map(([title, value]) => ({ title, value })),
            },
          ],
        },
      },
    ],
  }
}
