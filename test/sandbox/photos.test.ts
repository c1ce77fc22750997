import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import { photoLinkLifeMs } from '#src/sandbox/signed-link.ts'
import type { StoredPhoto } from '#src/sandbox/world-types.ts'
import { ask } from './ask.ts'

const now = new Date('2026-03-10T00:00:00Z')
type PhotoDraft = Partial<StoredPhoto> & { readonly id: number }
const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 1, 0, second))

function startWith(photos: readonly PhotoDraft[]) {
  const evaluation = anEvaluation({ photos, completedAt: null })
  const world = worldOf({ evaluations: [evaluation] })
  return startSandbox({ world, clock: new VirtualClock({ start: now, frozen: true }) })
}

interface Listed {
  readonly Photos: { id: number; url: string; hero: boolean; heroSource: string | null }[]
}

test.each<[string, PhotoDraft[], number[]]>([
  [
    'order, not id',
    [
      { id: 1, order: 3 },
      { id: 2, order: 1 },
    ],
    [2, 1],
  ],
  [
    'upload time, then id, on equal order',
    [
      { id: 3, order: 1, uploadedAt: at(9) },
      { id: 2, order: 1, uploadedAt: at(9) },
      { id: 1, order: 1, uploadedAt: at(30) },
    ],
    [2, 3, 1],
  ],
  [
    'timestamp, else upload time, without order',
    [
      { id: 1, uploadedAt: at(20) },
      { id: 2, uploadedAt: at(50), takenAt: at(10) },
      { id: 3, order: 8, uploadedAt: at(55) },
    ],
    [3, 2, 1],
  ],
])('photos are sorted by %s', async (_name, photos, expected) => {
  await using sandbox = await startWith(photos)

  const { json } = await ask(sandbox, '/imagelist', { evalid: 1001 })
  expect((json as Listed).Photos.map(({ id }) => id)).toEqual(expected)
})

test('the first photo is the hero by default, and a pinned photo is the hero at any position', async () => {
  await using unpinned = await startWith([{ id: 1 }, { id: 2 }])
  await using pinned = await startWith([{ id: 1 }, { id: 2, pinned: true }])
  const heroes = async (sandbox: typeof pinned) => {
    const { json } = await ask(sandbox, '/imagelist', { evalid: 1001 })
    return (json as Listed).Photos.map(({ hero, heroSource }) => [hero, heroSource])
  }

  expect(await heroes(unpinned)).toEqual([
    [true, 'default'],
    [false, null],
  ])
  expect(await heroes(pinned)).toEqual([
    [false, null],
    [true, 'manual'],
  ])
})

test('an evaluation in progress without photos answers an empty array', async () => {
  await using sandbox = await startWith([])

  expect(await ask(sandbox, '/imagelist', { evalid: 1001 })).toMatchObject({
    status: 200,
    json: { Photos: [] },
  })
})

test.each([
  ['unknown', { evalid: 5 }],
  ['not positive', { evalid: 0 }],
  ['text', { evalid: '1001' }],
  ['missing', {}],
  ['missing with the body', undefined],
  ['of another group', { evalid: 2 }],
])('an evalid that is %s is a 403, not a 400', async (_name, body) => {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', groupId: 'group-2' })]
  const evaluations = [anEvaluation({ evalId: 2, rooftopUid: 'rooftop-2' })]
  await using sandbox = await startSandbox({ world: worldOf({ rooftops, evaluations }), now })

  const { status, json } = await ask(sandbox, '/imagelist', body)
  expect(status).toBe(403)
  expect(json).toEqual({ error: expect.any(String) })
})

test('photos are there from creation until the evaluation vanishes', async () => {
  await using sandbox = await startWith([{ id: 1 }])
  const statusAt = async (iso: string) => {
    sandbox.clock.set(new Date(iso))
    return (await ask(sandbox, '/imagelist', { evalid: 1001 })).status
  }
  sandbox.world.vanish(1001, new Date('2026-03-04T00:00:00Z'))

  expect(await statusAt('2026-03-02T00:59:59Z')).toBe(403)
  expect(await statusAt('2026-03-02T01:00:00Z')).toBe(200)
  expect(await statusAt('2026-03-04T00:00:00Z')).toBe(403)
})

test('a signed link leads to a picture until it expires', async () => {
  await using sandbox = await startWith([{ id: 1 }])
  const { json } = await ask(sandbox, '/imagelist', { evalid: 1001 })
  const { url } = (json as Listed).Photos[0]!

  expect((await fetch(url)).headers.get('content-type')).toContain('image/svg+xml')
  expect((await fetch(url.replace('/1.svg', '/2.svg'))).status).toBe(403)
  sandbox.clock.advance(photoLinkLifeMs)
  expect((await fetch(url)).status).toBe(403)
})

const four = [
  { id: 1, order: 1 },
  { id: 2, order: 1 },
  { id: 3, order: null },
  { id: 4, order: null },
]

interface Changed {
  readonly success: boolean
  readonly Photos: { id: number; order: number; hero: boolean; heroSource: string | null }[]
}

/** `id` of each photo in display order, the hero with its source. */
function inShort(json: unknown): (number | string)[] {
  return (json as Changed).Photos.map(({ id, hero, heroSource }) =>
    hero ? `${id} ${heroSource}` : id,
  )
}

test.each<[string, unknown, (number | string)[]]>([
  ['a list', [4, 3, 2, 1], ['4 default', 3, 2, 1]],
  ['a comma-separated string', ' 2, 1,4 ', ['2 default', 1, 4, 3]],
  ['a list with ids left out', [3], ['3 default', 1, 2, 4]],
  ['a list with ids of other evaluations', [99, 4, -1], ['4 default', 1, 2, 3]],
  ['a list that names one twice', [2, 4, 2], ['2 default', 4, 1, 3]],
])('imageorder takes %s', async (_name, ids, expected) => {
  await using sandbox = await startWith(four)

  const { status, json } = await ask(sandbox, '/imageorder', { evalid: 1001, ids })
  const later = await ask(sandbox, '/imagelist', { evalid: 1001 })

  expect(status).toBe(200)
  expect(json).toMatchObject({ success: true })
  expect(inShort(json)).toEqual(expected)
  expect(inShort(later.json)).toEqual(expected)
  expect((json as Changed).Photos.map(({ order }) => order)).toEqual([1, 2, 3, 4])
})

test('imageorder leaves a pin on its photo, and pins another on request', async () => {
  await using sandbox = await startWith([...four, { id: 5, pinned: true }])
  const order = (body: object) => ask(sandbox, '/imageorder', { evalid: 1001, ...body })

  expect(inShort((await order({ ids: [4, 3] })).json)).toEqual([4, 3, 1, 2, '5 manual'])
  expect(inShort((await order({ ids: [1], hero: 3 })).json)).toEqual([1, 4, '3 manual', 2, 5])
})

test('imageorder with an unknown hero is a 404, and the reorder stays', async () => {
  await using sandbox = await startWith([...four, { id: 5, pinned: true }])

  const refused = await ask(sandbox, '/imageorder', { evalid: 1001, ids: [4, 2], hero: 99 })
  const { json } = await ask(sandbox, '/imagelist', { evalid: 1001 })

  expect(refused).toMatchObject({ status: 404, json: { error: expect.any(String) } })
  expect(inShort(json)).toEqual([4, 2, 1, 3, '5 manual'])
})

test.each([
  ['missing', undefined],
  ['an empty list', []],
  ['an empty string', ''],
  ['names', ['a', 'b']],
  ['a string of names', '1,b'],
  ['one number', 4],
])('imageorder with ids that are %s is a 400 that changes nothing', async (_name, ids) => {
  await using sandbox = await startWith(four)

  const { status } = await ask(sandbox, '/imageorder', { evalid: 1001, ids, hero: 4 })
  const { json } = await ask(sandbox, '/imagelist', { evalid: 1001 })

  expect(status).toBe(400)
  expect(inShort(json)).toEqual(['1 default', 2, 3, 4])
})

test('imagehero pins, moves and clears the pin without moving a photo', async () => {
  await using sandbox = await startWith(four)
  const pin = async (imgid: number | null) =>
    inShort((await ask(sandbox, '/imagehero', { evalid: 1001, imgid })).json)

  expect(await pin(3)).toEqual([1, 2, '3 manual', 4])
  expect(await pin(1)).toEqual(['1 manual', 2, 3, 4])
  expect(await pin(null)).toEqual(['1 default', 2, 3, 4])
})

test('imagehero with an unknown id is a 404 that changes nothing', async () => {
  await using sandbox = await startWith([...four, { id: 5, pinned: true }])

  const refused = await ask(sandbox, '/imagehero', { evalid: 1001, imgid: 99 })
  const { json } = await ask(sandbox, '/imagelist', { evalid: 1001 })

  expect(refused).toMatchObject({ status: 404, json: { error: expect.any(String) } })
  expect(inShort(json)).toEqual([1, 2, 3, 4, '5 manual'])
})

test.each([
  ['/imageorder', { ids: [1] }],
  ['/imagehero', { imgid: null }],
])('%s is a 403 without an evaluation that the key may access', async (path, rest) => {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', groupId: 'group-2' })]
  const evaluations = [anEvaluation({ evalId: 2, rooftopUid: 'rooftop-2' })]
  await using sandbox = await startSandbox({ world: worldOf({ rooftops, evaluations }), now })
  const statusFor = async (evalid?: unknown) =>
    (await ask(sandbox, path, { evalid, ...rest })).status

  expect(await Promise.all([5, 2, 0, -1, '2', undefined].map(statusFor))).toEqual(
    Array(6).fill(403),
  )
})
