import { expect, test } from 'vitest'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { defaultWire } from '#src/values/wire.ts'
import { ask, listIds } from './ask.ts'

const world = () =>
  worldOf({
    rooftops: [
      aRooftop({ uid: 'rooftop-1', dealerId: 101 }),
      aRooftop({ uid: 'rooftop-2', dealerId: 102, groupId: 'group-2' }),
      aRooftop({ uid: 'rooftop-3', dealerId: 103, groupId: 'group-3' }),
    ],
    keys: [
      aKey({ value: 'partner', rooftopUids: ['rooftop-1', 'rooftop-2'] }),
      aKey({ name: 'own', value: 'own', kind: 'dedicated', rooftopUids: ['rooftop-3'] }),
    ],
    evaluations: [1, 2, 3].map((id) => anEvaluation({ evalId: id, rooftopUid: `rooftop-${id}` })),
  })

const paths = ['/getevallist', '/geteval', '/getuserlist', '/imagelist']

test.each(paths)('%s answers 403 to a wrong key, and to none', async (path) => {
  await using sandbox = await startSandbox({ world: world() })

  for (const key of ['wrong', '', null]) {
    const { status, json } = await ask(sandbox, path, { evalid: 1 }, { key })
    expect(status).toBe(403)
    expect(json).toEqual({ error: expect.any(String) })
  }
})

test.each(paths)('%s answers 403 to a partner key without a rooftop of its own', async (path) => {
  await using sandbox = await startSandbox({ world: world() })

  for (const rooftop of [null, 'rooftop-3', 'unknown', '101'])
    expect((await ask(sandbox, path, { evalid: 1 }, { key: 'partner', rooftop })).status).toBe(403)
})

test('a partner key runs as the rooftop that X-Dealer-Id names', async () => {
  await using sandbox = await startSandbox({ world: world() })
  const as = (rooftop: string) => listIds(sandbox, undefined, { key: 'partner', rooftop })

  expect(await as('rooftop-1')).toEqual([1])
  expect(await as('rooftop-2')).toEqual([2])
})

test('a dedicated key runs as its rooftop, whatever X-Dealer-Id says', async () => {
  await using sandbox = await startSandbox({ world: world() })

  for (const rooftop of [null, 'rooftop-1', 'unknown'])
    expect(await listIds(sandbox, undefined, { key: 'own', rooftop })).toEqual([3])
})

test('the wire settings name the header and the text before the key', async () => {
  const wire = { ...defaultWire.appraisal, authHeader: 'X-Api-Key', authPrefix: 'Key ' }
  await using sandbox = await startSandbox({
    world: world(),
    wire: { ...defaultWire, appraisal: wire },
  })
  const list = (headers: Record<string, string>) =>
    fetch(`${sandbox.baseUrl}/getevallist`, { method: 'POST', headers })

  expect((await list({ 'x-api-key': 'Key own' })).status).toBe(200)
  expect((await list({ 'x-api-key': 'own' })).status).toBe(403)
  expect((await list({ authorization: 'Key own' })).status).toBe(403)
})
