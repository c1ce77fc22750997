import { shortened } from '../../values/text.ts'
import type { AlertTarget } from '../config/alerts.ts'
import type { Severity } from './alert-routes.ts'

/** The message about one problem; with format json, the body of the request. */
export interface AlertMessage {
  readonly source: 'forecourt'
  /** The same in all messages about one problem. */
  readonly key: string
  readonly state: 'raised' | 'resolved' | 'test'
  readonly severity: Severity
  readonly what: string
  readonly since: string
  /** Only of state resolved. */
  readonly until?: string
  /** The page of the console, where there is one. */
  readonly url?: string
  /** The command that shows more. */
  readonly look: string
}

/** A message in the words of each format. */
type WebhookFormat = Exclude<AlertTarget['format'], 'email'>

/** The request's body, in a format that the receiver accepts. */
export function messageBody(format: WebhookFormat, message: AlertMessage): unknown {
  return bodies[format](message)
}

const bodies: Readonly<Record<WebhookFormat, (message: AlertMessage) => unknown>> = {
  json: (message) => message,
  slack: slackBody,
  teams: teamsBody,
  'google-chat': googleChatBody,
}

const titles = { raised: 'problem', resolved: 'resolved', test: 'test' }
const openLabel = 'Open in the console'

/** What it is about, in some words. */
function messageTitle({ state, severity }: AlertMessage): string {
  const isCritical = state === 'raised' && severity === 'critical'
  return `Forecourt: ${isCritical ? 'critical ' : ''}${titles[state]}`
}

function messageFacts({ state, since, until, look }: AlertMessage): [string, string][] {
  const isProblem = state === 'raised' || state === 'resolved'
  return [
    [isProblem ? 'Since' : 'At', timeText(since)],
    ...(until === undefined ? [] : [['Until', timeText(until)] as [string, string]]),
    ['See', look],
  ]
}

function timeText(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`
}

/** Characters of a text in a block of Slack, with its escapes; it refuses the whole message otherwise. */
const longestSection = 3000

/** An escaped text of at most `most` characters, without a cut escape. */
function cutEscaped(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/&[a-z]*$/, '')}…`
}

/** The body for an incoming webhook of Slack, which shows the blocks, and `text` in the notification. */
function slackBody(message: AlertMessage) {
  // Slack requires these three to be escaped; without them a text can hold no link or mention.
  const head = `*${messageTitle(message)}*\n`
  const what = cutEscaped(escapedHtml(message.what), longestSection - head.length)
  const facts = messageFacts(message).map(([name, value]) => `${name}: ${escapedHtml(value)}`)
  const links = message.url === undefined ? [] : [`<${message.url}|${openLabel}>`]
  const context = cutEscaped(facts.join('  |  '), longestSection / 2)
  return {
    text: `${messageTitle(message)}: ${what}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `${head}${what}` } },
      {
        type: 'context',
        elements: [{ type: 'mrkdwn', text: [context, ...links].join('  |  ') }],
      },
    ],
  }
}

/** An Adaptive Card, for the webhooks of Teams (Workflows and the older connectors). */
function teamsBody(message: AlertMessage) {
  // Text blocks and facts are Markdown: a stream or a path must not become a list or a link. One line end is not a new line there.
  const plain = (text: string) =>
    text
      .replaceAll(/[\\`*_[\]#]/g, '\\$&')
      .replaceAll(/^([ \t]*)([-+>]|\d+(?=[.)]))/gm, '$1\\$2')
      .replaceAll(/\n+/g, '\n\n')
  const color = message.state === 'raised' ? 'attention' : 'good'
  const { url } = message
  return {
    type: 'message',
    summary: messageTitle(message),
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            {
              type: 'TextBlock',
              text: messageTitle(message),
              weight: 'bolder',
              size: 'medium',
              color,
            },
            { type: 'TextBlock', text: plain(message.what), wrap: true },
            {
              type: 'FactSet',
              facts: messageFacts(message).map(([title, value]) => ({
                title,
                value: plain(value),
              })),
            },
          ],
          ...(url && { actions: [{ type: 'Action.OpenUrl', title: openLabel, url }] }),
        },
      },
    ],
  }
}

/** A card, for an incoming webhook of Google Chat. Not a text: there `<users/all>` notifies everyone. */
function googleChatBody(message: AlertMessage) {
  const { url } = message
  const what = escapedHtml(message.what).replaceAll('\n', '<br>')
  return {
    fallbackText: messageTitle(message),
    cardsV2: [
      {
        cardId: 'alert',
        card: {
          header: { title: messageTitle(message) },
          sections: [
            {
              widgets: [
                { textParagraph: { text: what } },
                ...messageFacts(message).map(([topLabel, value]) => ({
                  decoratedText: { topLabel, text: escapedHtml(value) },
                })),
                ...(url === undefined
                  ? []
                  : [
                      {
                        buttonList: {
                          buttons: [{ text: openLabel, onClick: { openLink: { url } } }],
                        },
                      },
                    ]),
              ],
            },
          ],
        },
      },
    ],
  }
}

function escapedHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const longestSubject = 150

/** Subject and text of an e-mail. */
export function messageMail(message: AlertMessage): {
  readonly subject: string
  readonly text: string
} {
  const [first = ''] = message.what.split('\n')
  const subject = `${messageTitle(message)}: ${first}`
  const facts = messageFacts(message).map(([name, value]) => `${name}: ${value}`)
  return {
    subject: shortened(subject, longestSubject),
    text: [message.what, '', ...facts, ...(message.url ? [message.url] : []), ''].join('\n'),
  }
}
