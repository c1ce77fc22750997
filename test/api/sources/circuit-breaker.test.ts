import { expect, test } from 'vitest'
import { CircuitBreaker } from '#src/api/sources/circuit-breaker.ts'
import { rests } from '#src/api/sources/status-rules.ts'
import { SyncError } from '#src/errors.ts'

const use = (rooftop: number | string, operation = 'getevallist') => ({
  keyName: 'north',
  operation,
  rooftopUid: `rooftop-${rooftop}`,
})
const refuse = async () => {
  throw new SyncError('abort', 'refused', { status: 403, meaning: 'keyRefused' })
}

/** Refuses `count` rooftops; returns how many calls were sent. */
async function refuseMany(refusals: CircuitBreaker, rooftops: number, operation?: string) {
  let asked = 0
  for (let at = 0; at < rooftops; at += 1)
    await refusals
      .run(use(at, operation), () => {
        asked += 1
        return refuse()
      })
      .catch(() => undefined)
  return asked
}

test('a key that is refused for ten rooftops is not used for a while, for that operation alone', async () => {
  const refusals = new CircuitBreaker()

  expect(await refuseMany(refusals, 200)).toBe(rests.refusedRooftops)
  expect(await refuseMany(refusals, 200, 'getuserlist')).toBe(rests.refusedRooftops)
  await expect(refusals.run(use('last'), async () => 'sent')).rejects.toThrow(
    /getevallist for rooftop rooftop-last was not sent: the source refused key north.*10 rooftops in a row.*not used for 10 min/,
  )
  expect(await refusals.run(use('last', 'geteval'), async () => 'sent')).toBe('sent')
})

test('refusals of one rooftop, or with an answer between them, do not stop the key', async () => {
  const refusals = new CircuitBreaker()
  for (let time = 0; time < 50; time += 1)
    await expect(refusals.run(use('sold'), refuse)).rejects.toThrow('refused')
  expect(await refusals.run(use('good'), async () => 'sent')).toBe('sent')

  for (let round = 0; round < 5; round += 1) {
    await refuseMany(refusals, rests.refusedRooftops - 1)
    expect(await refusals.run(use('good'), async () => 'sent')).toBe('sent')
  }
})

test('other errors do not stop the key', async () => {
  const refusals = new CircuitBreaker()
  for (let at = 0; at < 50; at += 1)
    await expect(
      refusals.run(use(at), async () => {
        throw new SyncError('retry', 'busy', { status: 503, meaning: 'busy' })
      }),
    ).rejects.toThrow('busy')
})

test('after a while the key is tried again', async () => {
  let now = 0
  const refusals = new CircuitBreaker(() => now)
  await refuseMany(refusals, 50)

  now += 10 * 60_000

  expect(await refusals.run(use('good'), async () => 'sent')).toBe('sent')
  expect(await refuseMany(refusals, 50)).toBe(rests.refusedRooftops)
})
