import { expect, test } from 'vitest'
import { aRooftop, aUser, worldOf } from '../support/build-world.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { ask } from './ask.ts'

const world = () =>
  worldOf({
    rooftops: [
      aRooftop({ uid: 'rooftop-1', dealerId: 101 }),
      aRooftop({ uid: 'rooftop-2', dealerId: 102 }),
      aRooftop({ uid: 'rooftop-3', dealerId: 103, groupId: 'group-2' }),
    ],
    users: [
      aUser({ userId: 1, name: 'Zoe', email: 'zoe@x.y' }),
      aUser({ userId: 2, name: 'Adam', email: 'adam@x.y', rooftopUid: 'rooftop-2' }),
      aUser({ userId: 3, name: 'Mia', email: 'mia@x.y', active: false }),
      aUser({ userId: 4, name: 'Link Capture 1', email: 'a@link.invalid', generated: true }),
      aUser({ userId: 5, name: 'Other', groupId: 'group-2', rooftopUid: 'rooftop-3' }),
    ],
  })

test.each([
  ['no body', undefined, ['Adam', 'Zoe']],
  ['includeInactive', { includeInactive: true }, ['Adam', 'Mia', 'Zoe']],
  ['dealerId', { dealerId: '[102]' }, ['Adam']],
  ['dealerId of another group', { dealerId: '[103]' }, []],
  ['user by email', { user: 'ZOE@x.y' }, ['Zoe']],
  ['user by id', { user: '2' }, ['Adam']],
  ['user of another group', { user: '5' }, []],
  ['a generated account', { user: '4', includeInactive: true }, []],
])('with %s the users of the group are named, by name', async (_name, body, expected) => {
  await using sandbox = await startSandbox({ world: world() })

  const { status, json } = await ask(sandbox, '/getuserlist', body)
  expect(status).toBe(200)
  expect((json as { Name: string }[]).map(({ Name }) => Name)).toEqual(expected)
})

test('a user has a name and an email', async () => {
  await using sandbox = await startSandbox({ world: world() })

  const { json } = await ask(sandbox, '/getuserlist', { user: '1' })
  expect(json).toEqual([{ Name: 'Zoe', Email: 'zoe@x.y' }])
})

test('wrong types are a 400', async () => {
  await using sandbox = await startSandbox({ world: world() })

  expect((await ask(sandbox, '/getuserlist', { includeInactive: 'yes' })).status).toBe(400)
  expect((await ask(sandbox, '/getuserlist', { dealerId: [101] })).status).toBe(400)
})
