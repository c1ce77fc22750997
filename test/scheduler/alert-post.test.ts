import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { type AlertMessage, postAlert } from '#src/scheduler/alert-post.ts'

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
const raised: AlertMessage = {
  source: 'forecourt',
  key: 'objective/key/group-au',
  state: 'raised',
  what: 'users of A & B <North>: POST /getuserlist [x] answered 401. *Check* the key_name.',
  since: '2026-03-10T06:30:12.345Z',
  look: 'forecourt status',
}
const resolved: AlertMessage = { ...raised, state: 'resolved', until: '2026-03-10T07:00:00.000Z' }

/** What a receiver gets for a message, as JSON. */
async function posted(format: 'json' | 'slack' | 'teams', message: AlertMessage) {
  const got: unknown[] = []
  const server = createServer(async (request, response) => {
    const body = await request.setEncoding('utf8').toArray()
    expect(request.headers['content-type']).toBe('application/json')
    got.push(JSON.parse(body.join('')))
    response.writeHead(200).end('ok')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  expect(await postAlert({ url, format, afterMinutes: 5 }, message, silent)).toBe(true)
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  return got[0]
}

test('json is the message itself', async () => {
  expect(await posted('json', resolved)).toEqual(resolved)
})

test('slack gets a notification text and blocks, without anything that reads as a link or a mention', async () => {
  const what =
    'users of A &amp; B &lt;North&gt;: POST /getuserlist [x] answered 401. *Check* the key_name.'
  expect(await posted('slack', raised)).toEqual({
    text: `Forecourt: problem: ${what}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*Forecourt: problem*\n${what}` } },
      {
        type: 'context',
        elements: [
          { type: 'mrkdwn', text: 'Since: 2026-03-10 06:30 UTC  |  See: forecourt status' },
        ],
      },
    ],
  })
})

test('teams gets an Adaptive Card in a message, with its Markdown escaped', async () => {
  expect(await posted('teams', resolved)).toMatchObject({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
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
        },
      },
    ],
  })
})
