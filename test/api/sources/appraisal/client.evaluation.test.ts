import { expect, test } from 'vitest'
import { UnreadableBody } from '#src/api/sources/appraisal/answers.ts'
import type { KeyLimiter } from '#src/api/sources/limiter.ts'
import { json } from '../fake-source.ts'
import { alone, faultOf, north, start } from './client-support.ts'

test('an evaluation is returned as received', async () => {
  const text = ' [ {"EvalID": 7, "a": 1e2, "a": 2} ]\n'
  const { client } = await start((response) => void response.writeHead(200).end(`\ufeff${text}`))

  const found = await client.getEvaluation(north, 7)

  expect(found).toMatchObject({ kind: 'found', text, attempts: 1 })
})

test('400 and an empty array are a vanished evaluation, asked for once', async () => {
  const { client, source } = await start((response, _request, n) =>
    n === 1 ? json(response, { error: 'Evaluation not found' }, 400) : void response.end(' [ ] '),
  )

  expect(await client.getEvaluation(north, 7)).toEqual({ kind: 'vanished' })
  expect(await client.getEvaluation(north, 8)).toEqual({ kind: 'vanished' })
  expect(source.received).toHaveLength(2)
})

test.each(['error', 'message'])(
  'a 400 that asks for a user (%s) is not a vanished evaluation',
  async (name) => {
    const { client } = await start((response) =>
      json(response, { [name]: 'user is required' }, 400),
    )

    const error = await faultOf(client.getEvaluation(alone, 7))

    expect(error).toMatchObject({ errorAction: 'abort', status: 400, naturalKey: '7' })
    expect(error.message).toContain('keys.single.user')
    expect(await client.getEvaluation(north, 7)).toEqual({ kind: 'vanished' })
  },
)

test('a 2xx object is skipped at once, and its error is quoted', async () => {
  const bodies = [{ error: 'Locked by jane@x.test' }, { EvalID: 7, cName: 'Jane' }]
  const { client, source } = await start((response, _request, n) => json(response, bodies[n - 1]))

  const quoted = await faultOf(client.getEvaluation(north, 7))
  const object = await faultOf(client.getEvaluation(north, 7))

  expect(quoted).toMatchObject({ errorAction: 'skip', rooftopUid: 'uid-north', naturalKey: '7' })
  expect(quoted.message).toContain('"Locked by [email]"')
  expect(object.errorAction).toBe('skip')
  expect(object.message).toContain('is not an array of evaluations')
  expect(source.received).toHaveLength(2)
})

test.each(['[{"EvalID":7,"cName":"Jane"', '{"EvalID":7,"cName":"Ja'])(
  'a body that stays cut off (%s) is skipped, and its text goes to quarantine',
  async (text) => {
    const limiters = new Map<string | null, KeyLimiter>()
    const { client, source } = await start((response) => void response.end(text), { limiters })

    const error = await faultOf(client.getEvaluation(north, 7))

    expect(error.errorAction).toBe('skip')
    expect(error.cause).toBeInstanceOf(UnreadableBody)
    expect((error.cause as UnreadableBody).text).toBe(text)
    expect(Object.entries(error.cause as UnreadableBody).flat()).not.toContain(text)
    expect(source.received).toHaveLength(2)
    expect(limiters.get('group-au')!.concurrency).toBe(4)
  },
)

test('a body that was cut off once is found at the second attempt', async () => {
  const { client } = await start(
    (response, _request, n) => void response.end(n === 1 ? '[{"EvalID"' : '[{"EvalID":7}]'),
  )

  expect(await client.getEvaluation(north, 7)).toMatchObject({ kind: 'found', attempts: 2 })
})
