import { expect, test } from 'vitest'
import { json } from '../fake-source.ts'
import { alone, faultOf, newest, north, south, start } from './client-support.ts'

test('both bounds of the list are exclusive: from − 1 and until', async () => {
  const { client, source } = await start((response) => json(response, []))

  await client.listEvaluations(south, { from: 1_700_000_000, until: 1_700_086_400 })
  await client.listEvaluations(south, newest)

  expect(source.received.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
    ['/v1/getevallist', { startdate: 1_699_999_999, enddate: 1_700_086_400 }],
    ['/v1/getevallist', { startdate: 1_699_999_999 }],
  ])
})

test('adjoining windows list every second once', async () => {
  const entries = [999, 1000, 1001, 1999, 2000, 2001]
  const { client } = await start((response, { body }) => {
    const { startdate, enddate = Number.POSITIVE_INFINITY } = JSON.parse(body)
    json(
      response,
      entries.filter((at) => at > startdate && at < enddate).map((EvalID) => ({ EvalID })),
    )
  })
  const ids = async (from: number, until: number | null) =>
    (await client.listEvaluations(north, { from, until })).items.map(({ evalId }) => evalId)

  expect(await ids(1000, 2000)).toEqual([1000, 1001, 1999])
  expect(await ids(2000, null)).toEqual([2000, 2001])
})

test('a window of fractions is refused before anything is sent', async () => {
  const { client, source } = await start((response) => json(response, []))

  await expect(client.listEvaluations(north, { from: 1.5, until: null })).rejects.toThrow(
    RangeError,
  )
  expect(source.received).toHaveLength(0)
})

test('a partner key names its rooftop, a dedicated key does not; dealerId is a string with a JSON array', async () => {
  const { client, source } = await start((response) => json(response, []))

  await client.listEvaluations(north, newest)
  await client.listEvaluations(alone, newest)

  const [first, second] = source.received
  expect(first!.headers).toMatchObject({
    'x-dealer-id': 'uid-north',
    authorization: 'sekret-partner',
  })
  expect(JSON.parse(first!.body).dealerId).toBe('[101]')
  expect(second!.headers).not.toHaveProperty('x-dealer-id')
  expect(second!.headers.authorization).toBe('sekret-single')
  expect(JSON.parse(second!.body)).not.toHaveProperty('dealerId')
})

test('the header and the prefix of the key are settings', async () => {
  const { client, source } = await start((response) => json(response, []), {
    wire: { authHeader: 'X-Api-Key', authPrefix: 'Key ' },
  })

  await client.listEvaluations(north, newest)

  expect(source.received[0]!.headers).toMatchObject({ 'x-api-key': 'Key sekret-partner' })
  expect(source.received[0]!.headers).not.toHaveProperty('authorization')
})

test('the user of a key goes with /geteval alone', async () => {
  const { client, source } = await start((response) => json(response, []))

  await client.listEvaluations(north, newest)
  await client.listUsers(north, { includeInactive: true })
  await client.getEvaluation(north, 7)
  await client.getEvaluation(alone, 7)

  expect(source.received.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
    ['/v1/getevallist', { startdate: 1_699_999_999, dealerId: '[101]' }],
    ['/v1/getuserlist', { includeInactive: true }],
    ['/v1/geteval', { evalid: 7, user: 'owner@group.test' }],
    ['/v1/geteval', { evalid: 7 }],
  ])
})

test('list items: ids once, integer strings accepted, items without an id reported', async () => {
  const items = [
    { EvalID: 3, UpdatedAt: '2026-01-01T00:00:00Z' },
    { EvalID: '4' },
    { EvalID: 3 },
    { EvalID: 5, UpdatedAt: 1_767_225_600 },
    { EvalID: 6, UpdatedAt: '1767225600500' },
    { EvalID: 'four', name: 'Jane' },
    null,
  ]
  const { client } = await start((response) => json(response, items))

  const list = await client.listEvaluations(north, newest)

  expect(list.items).toEqual([
    { evalId: 3, updatedAt: '2026-01-01T00:00:00Z' },
    { evalId: 4, updatedAt: null },
    { evalId: 5, updatedAt: '2026-01-01T00:00:00.000Z' },
    { evalId: 6, updatedAt: '2026-01-01T00:00:00.500Z' },
  ])
  expect(list.malformed.map(({ text }) => text)).toEqual([
    '{"EvalID":"four","name":"Jane"}',
    'null',
  ])
  expect(list.malformed[0]!.issue).toContain('wire.appraisal.evalList.id')
  expect(list.malformed[0]!.issue).not.toContain('Jane')
})

test('a list in which half of the items have no id ends in the setting that names it, not in an empty list', async () => {
  const { client } = await start((response) => json(response, [{ Id: 1 }, { Id: 2 }]))

  const listing = client.listEvaluations(north, newest)

  await expect(listing).rejects.toMatchObject({ errorAction: 'abort' })
  await expect(listing).rejects.toThrow('2 of 2 items')
  await expect(listing).rejects.toThrow('wire.appraisal.evalList.id')
})

test('the shape of the list is a setting: a path to the items, and items that are the ids', async () => {
  const { client } = await start((response) => json(response, { data: { evals: [5, '6'] } }), {
    wire: { evalList: { items: 'data.evals', id: '', updatedAt: 'UpdatedAt' } },
  })

  const { items } = await client.listEvaluations(north, newest)

  expect(items.map(({ evalId }) => evalId)).toEqual([5, 6])
})

test('an empty array beside one that is not empty is not an empty list: the path may be wrong', async () => {
  const bodies = [
    { data: [], evaluations: [{ EvalID: 1, name: 'Jane' }] },
    { data: [], result: { ids: [5, 6] } },
    { data: [], links: [], warnings: ['none found'], total: 0 },
  ]
  const { client } = await start((response, _request, n) => json(response, bodies[n - 1]), {
    wire: { evalList: { items: 'data', id: 'EvalID', updatedAt: 'UpdatedAt' } },
  })
  const list = async () => await client.listEvaluations(north, newest)

  for (const _ of ['objects', 'ids']) {
    const fault = await faultOf(list())
    expect(fault).toMatchObject({ errorAction: 'abort' })
    expect(String(fault)).toContain('wire.appraisal.evalList.items')
    expect(String(fault)).not.toContain('Jane')
  }
  expect((await list()).items).toEqual([])
})

/** A service that sends its users beside each list; `list` makes the answer. It reads evaluations up to 99. */
async function startWithUsers(
  list: (sent: { enddate?: number; dealerId?: string }, n: number) => object,
  items = 'data',
) {
  const { client, source } = await start(
    (response, { path, body }, n) => {
      const sent = JSON.parse(body)
      if (path.endsWith('getevallist')) return json(response, list(sent, n))
      const { evalid: EvalID } = sent
      json(response, EvalID < 100 ? [{ EvalID }] : [], EvalID < 100 ? 200 : 400)
    },
    { wire: { evalList: { items, id: 'id', updatedAt: 'UpdatedAt' } } },
  )
  const sentTo = (end: string) => source.received.filter(({ path }) => path.endsWith(end))
  return { client, sentTo }
}

const users = [{ userId: 900, Name: 'Jane' }]
const closed = { from: 1_600_000_000, until: 1_600_086_400 }

test('an empty list beside other records counts where the same path had evaluations beside the same records', async () => {
  const bodies = [{ data: [{ id: 7 }], users }, ...Array(3).fill({ data: [], users })]
  const { client, sentTo } = await startWithUsers(() => bodies.shift())

  const lists = [newest, closed, closed, closed].map(
    (range) => () => client.listEvaluations(north, range),
  )
  const counts: number[] = []
  for (const list of lists) counts.push((await list()).items.length)

  expect(counts).toEqual([1, 0, 0, 0])
  expect(sentTo('getevallist')).toHaveLength(4)
  // The listed id is read once: an evaluation has it.
  expect(sentTo('geteval').map(({ body }) => JSON.parse(body).evalid)).toEqual([7])
})

test('where the first list is empty, the evaluations of the key are asked for, once for all windows', async () => {
  const { client, sentTo } = await startWithUsers(({ enddate, dealerId }) => ({
    data: enddate === undefined && dealerId === undefined ? [{ id: 7 }] : [],
    users,
  }))

  const lists = await Promise.all([
    client.listEvaluations(north, closed),
    client.listEvaluations(north, closed),
  ])

  expect(lists.map(({ items }) => items)).toEqual([[], []])
  expect(sentTo('getevallist')).toHaveLength(3)
  expect(sentTo('geteval')).toHaveLength(1)
})

test.for<[string, string, () => (sent: object, n: number) => object]>([
  [
    'of deleted evaluations',
    'gone',
    () => {
      const bodies = [{ gone: [{ id: 700 }], data: [{ id: 7 }] }]
      return () => bodies.shift() ?? { gone: [], data: [{ id: 8 }] }
    },
  ],
  [
    'of users',
    'users',
    () => {
      const bodies = [{ users: [{ id: 900 }], data: [{ EvalID: 7 }] }]
      return () => bodies.shift() ?? { users: [], data: [{ EvalID: 8 }] }
    },
  ],
  [
    'of a part of the evaluations',
    'recent',
    () => {
      const bodies = [{ recent: [{ id: 7 }], data: [{ id: 7 }] }]
      return () => bodies.shift() ?? { recent: [], data: [{ id: 8 }] }
    },
  ],
  ['that has never held anything', 'errors', () => () => ({ errors: [], data: [{ id: 7 }] })],
  [
    'that was right until the service moved its evaluations',
    'data',
    () => {
      const bodies = [
        { data: [{ id: 7 }], users },
        { data: [], users },
      ]
      return () => bodies.shift() ?? { data: [], users, evaluations: [{ EvalID: 8 }] }
    },
  ],
  [
    'that was right until the service moved them to where others were',
    'data',
    () => {
      const bodies = [
        { data: [{ id: 7 }], users },
        { data: [], users },
      ]
      return () => bodies.shift() ?? { data: [], users: [{ EvalID: 8 }] }
    },
  ],
])('an empty list is refused at a path %s', async ([, items, answers]) => {
  const list = answers()
  const { client } = await startWithUsers(list, items)

  const faults: string[] = []
  for (let at = 0; at < 4; at += 1)
    await client.listEvaluations(north, closed).then(
      (answer) => expect(at === 0 || answer.items.length === 0).toBe(true),
      (error: unknown) => faults.push(String(error)),
    )

  expect(faults.length).toBeGreaterThanOrEqual(2)
  expect(faults.at(-1)).toContain('wire.appraisal.evalList.items')
})

test('a path that is changed to a wrong one starts without a proof', async () => {
  const { client } = await startWithUsers(() => ({ data: [{ id: 7 }], users, none: [] }))
  const changed = await startWithUsers(() => ({ data: [{ id: 7 }], users, none: [] }), 'none')

  expect((await client.listEvaluations(north, closed)).items).toHaveLength(1)
  const fault = await faultOf(changed.client.listEvaluations(north, closed))
  expect(fault.message).toContain('wire.appraisal.evalList.items')
})

test('a list of another shape aborts and names the setting; one with an error quotes it', async () => {
  const bodies = [{ evals: [], who: 'Jane' }, { error: 'bad key sekret-partner of x@y.test' }]
  const { client } = await start((response, _request, n) => json(response, bodies[n - 1]))

  const shape = await faultOf(client.listEvaluations(north, newest))
  const error = await faultOf(client.listEvaluations(north, newest))

  expect(shape).toMatchObject({ errorAction: 'abort', rooftopUid: 'uid-north' })
  expect(shape.message).toContain('wire.appraisal.evalList.items')
  expect(error.errorAction).toBe('abort')
  expect(error.message).toContain('"bad key [secret] of [email]"')
})

test('a list is dated by the source', async () => {
  const theirs = new Date('2031-05-06T07:08:09Z')
  const { client } = await start((response, _request, n) => {
    response.sendDate = false
    json(response, [], 200, n === 1 ? { date: theirs.toUTCString() } : {})
  })

  const dated = await client.listEvaluations(north, newest)
  const undated = await client.listEvaluations(north, newest)

  expect(dated.listedAt).toEqual(theirs)
  expect(Math.abs(undated.listedAt.getTime() - Date.now())).toBeLessThan(30_000)
})

test('a list that stays cut off is tried again later', async () => {
  const { client } = await start((response) => void response.end('[{"EvalID":7,"who":"Jane"'))

  const error = await faultOf(client.listEvaluations(north, newest))

  expect(error).toMatchObject({ errorAction: 'retry', status: 200 })
})

test('users are read, and what is not a user is reported without its values', async () => {
  const body = [{ Name: 'A', Email: 'a@x.test', Phone: 1 }, { Name: 'Jane' }, 'Jane']
  const { client } = await start((response) => json(response, body))

  const fetched = await client.listUsers(north, { includeInactive: false })

  expect(fetched.users).toEqual([body[0]])
  expect(fetched.malformed).toEqual([
    { index: 1, issue: 'Email: invalid_type' },
    { index: 2, issue: 'item: invalid_type' },
  ])
  expect(JSON.parse(fetched.text)).toEqual(body)
})

test('an unknown key aborts its rooftop alone', async () => {
  const { client, source } = await start((response) => json(response, []))

  const error = await faultOf(client.listEvaluations({ ...north, keyName: 'gone' }, newest))

  expect(error).toMatchObject({ errorAction: 'abort', rooftopUid: 'uid-north' })
  expect(source.received).toHaveLength(0)
})
