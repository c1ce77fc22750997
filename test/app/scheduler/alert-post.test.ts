import { expect, test } from 'vitest'
import { alertTargets } from '#src/app/config/alerts.ts'
import { makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import type { AlertMessage } from '#src/app/scheduler/alert-message.ts'
import { postAlert } from '#src/app/scheduler/alert-post.ts'
import { openMailServer, openReceiver } from './alert-receivers.ts'

const raised: AlertMessage = {
  source: 'forecourt',
  key: 'objective/key/group-au',
  state: 'raised',
  severity: 'critical',
  what: 'users of A & B <North>: POST /getuserlist [x] answered 401. *Check* the key_name.',
  since: '2026-03-10T06:30:12.345Z',
  look: 'forecourt status',
}
const resolved: AlertMessage = { ...raised, state: 'resolved', until: '2026-03-10T07:00:00.000Z' }
const linked: AlertMessage = { ...raised, url: 'https://forecourt.example.com/console/' }
const id = '0b2f1c4e-8f57-4d51-9f0e-2a8f5f3e7c11'

type Input = NonNullable<ConfigInput['alerts']>

/** Sends to the first receiver of these settings; why it did not arrive. */
async function send(alerts: Input, message: AlertMessage): Promise<string | null> {
  const settings = makeConfig({ alerts }, '/srv').alerts
  const [target] = alertTargets(settings)
  const recipient = target!.to[0] ?? ''
  const failure = await postAlert({ target: target!, recipient, smtp: settings.smtp }, message, id)
  return failure?.reason ?? null
}

/** What a receiver gets for a message, as JSON. */
async function posted(format: 'json' | 'slack' | 'teams' | 'google-chat', message: AlertMessage) {
  await using receiver = await openReceiver()
  expect(await send({ url: receiver.url, format }, message)).toBeNull()
  expect(receiver.ids).toEqual([id])
  return receiver.got[0] as unknown
}

test('json is the message itself', async () => {
  expect(await posted('json', resolved)).toEqual(resolved)
})

const escaped =
  'users of A &amp; B &lt;North&gt;: POST /getuserlist [x] answered 401. *Check* the key_name.'

test('slack gets a notification text and blocks, without anything that reads as a link or a mention', async () => {
  const title = 'Forecourt: critical problem'
  const page = '<https://forecourt.example.com/console/|Open in the console>'
  expect(await posted('slack', linked)).toEqual({
    text: `${title}: ${escaped}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*${title}*\n${escaped}` } },
      {
        type: 'context',
        elements: [
          {
            type: 'mrkdwn',
            text: `Since: 2026-03-10 06:30 UTC  |  See: forecourt status  |  ${page}`,
          },
        ],
      },
    ],
  })
})

test('teams gets an Adaptive Card in a message, with its Markdown escaped', async () => {
  const body = (await posted('teams', { ...resolved, url: linked.url! })) as {
    attachments: [{ content: unknown }]
  }
  expect(body).toMatchObject({
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive' }],
  })
  expect(body.attachments[0].content).toMatchObject({
    type: 'AdaptiveCard',
    body: [
      { type: 'TextBlock', text: 'Forecourt: resolved', color: 'good' },
      {
        text: 'users of A & B <North>: POST /getuserlist \\[x\\] answered 401. \\*Check\\* the key\\_name.',
        wrap: true,
      },
      {
        type: 'FactSet',
        facts: [
          { title: 'Since', value: '2026-03-10 06:30 UTC' },
          { title: 'Until', value: '2026-03-10 07:00 UTC' },
          { title: 'See', value: 'forecourt status' },
        ],
      },
    ],
    actions: [{ type: 'Action.OpenUrl', url: 'https://forecourt.example.com/console/' }],
  })
})

test('google chat gets a card whose text is escaped, so that it mentions no one', async () => {
  const mention = { ...linked, what: '<users/all> & more' }
  expect(await posted('google-chat', mention)).toEqual({
    fallbackText: 'Forecourt: critical problem',
    cardsV2: [
      {
        cardId: 'alert',
        card: {
          header: { title: 'Forecourt: critical problem' },
          sections: [
            {
              widgets: [
                { textParagraph: { text: '&lt;users/all&gt; &amp; more' } },
                { decoratedText: { topLabel: 'Since', text: '2026-03-10 06:30 UTC' } },
                { decoratedText: { topLabel: 'See', text: 'forecourt status' } },
                {
                  buttonList: {
                    buttons: [
                      { text: 'Open in the console', onClick: { openLink: { url: linked.url } } },
                    ],
                  },
                },
              ],
            },
          ],
        },
      },
    ],
  })
})

test.for([
  [500, 'answered with 500'],
  [404, 'answered with 404'],
  [302, 'answered with 302, a redirect: set the address that it leads to'],
] as const)(
  'a webhook that answers %i gives a reason without its address',
  async ([status, reason]) => {
    await using receiver = await openReceiver()
    receiver.state.status = status

    expect(await send({ url: receiver.url }, raised)).toBe(reason)
    expect(receiver.state.asked).toBe(1)
  },
)

test('a webhook that never answers, or that is not there, is given up', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  const receiver = await openReceiver()
  receiver.state.status = 0

  const silent = await send({ url: receiver.url }, raised)
  await receiver[Symbol.asyncDispose]()
  const absent = await send({ url: receiver.url }, raised)

  expect(silent).toBe('cannot be reached: no answer within 10 s')
  expect(absent).toBe('cannot be reached: ECONNREFUSED')
})

const mailTo = ['kim@example.com']

test('an e-mail has the problem in its subject, the page in its text, and the same id in every attempt', async () => {
  await using server = await openMailServer()

  const failure = await send({ format: 'email', to: mailTo, smtp: server.smtp }, linked)

  expect(failure).toBeNull()
  expect(server.got).toMatchObject([{ to: mailTo }])
  const { text } = server.got[0]!
  expect(text).toContain('Subject: Forecourt: critical problem: users of A & B <North>')
  expect(text).toContain(`Message-ID: <${id}@example.com>`)
  expect(text).toContain('From: Forecourt <forecourt@example.com>')
  expect(text).toContain('Auto-Submitted: auto-generated')
  expect(text).toContain('https://forecourt.example.com/console/')
})

test('what a mail server refuses is named without password, user and address', async () => {
  await using server = await openMailServer()
  const { smtp } = server
  server.refused.add('kim@example.com')

  const refused = await send({ format: 'email', to: mailTo, smtp }, raised)
  const wrong = { ...smtp, password: 'another-password' }
  const unknown = await send({ format: 'email', to: mailTo, smtp: wrong }, raised)
  const open = { ...smtp, security: 'starttls' } as const
  const plain = await send({ format: 'email', to: mailTo, smtp: open }, raised)

  expect(refused).toBe('the mail server refused the sender or an address (550)')
  expect(unknown).toBe('the mail server refused the user or the password (535)')
  expect(plain).toMatch(/^the mail server has no TLS that can be used/)
  expect(server.got).toEqual([])
})

test('a mail server that is not there is named by the code of the failure', async () => {
  const server = await openMailServer()
  await server[Symbol.asyncDispose]()

  const failure = await send({ format: 'email', to: mailTo, smtp: server.smtp }, raised)

  expect(failure).toMatch(/^the mail server cannot be reached: /)
})
