import { expect } from 'vitest'
import { at, files, instant, listAt, photos } from './patterns.ts'
import { post, type Send, table, upload } from './row.ts'
import { evals, who } from './world.ts'

const { us, three, wrong } = who
export const list = (evalid: unknown = evals.done, by = who.one): Send =>
  post('/imagelist', { evalid }, by)
export const order = (fields: object, evalid: unknown = evals.done): Send =>
  post('/imageorder', { evalid, ...fields })
export const hero = (imgid: unknown, evalid: unknown = evals.done): Send =>
  post('/imagehero', { evalid, imgid })
export const heroes = (body: unknown) =>
  listAt(body, 'Photos')
    .filter((photo) => photo['hero'] === true)
    .map(({ id, heroSource }) => [id, heroSource])

/** What all three turn down alike [A §7]. */
export const noAccess = (path: string, fields: object) => [
  {
    says: '403 no access: an evaluation of another dealer group',
    send: post(path, { evalid: evals.otherGroup, ...fields }),
    status: 403,
  },
  {
    says: '403 no access: an evaluation of another region',
    send: post(path, { evalid: evals.done, ...fields }, us),
    status: 403,
  },
  {
    says: '403 the evaluation does not exist',
    send: post(path, { evalid: evals.unknown, ...fields }),
    status: 403,
  },
  { says: '403 (not 400) missing `evalid`', send: post(path, fields), status: 403 },
  { says: '403 (not 400) no body', send: post(path), status: 403 },
  {
    says: '403 (not 400) `evalid` as text',
    send: post(path, { evalid: String(evals.done), ...fields }),
    status: 403,
  },
  {
    says: '403 (not 400) `evalid` 0',
    send: post(path, { evalid: 0, ...fields }),
    status: 403,
  },
  {
    says: '403 (not 400) negative `evalid`',
    send: post(path, { evalid: -5, ...fields }),
    status: 403,
  },
  {
    says: '403 invalid API key',
    send: post(path, { evalid: evals.done, ...fields }, wrong),
    status: 403,
  },
]

export const photoRows = [
  ...table('A §4 /imagelist', [
    {
      says: 'response 200: `{ Photos: [Photo] }` in display order',
      send: list(),
      status: 200,
      body: { Photos: photos(11, 12, 13) },
    },
    {
      says: 'empty array when none',
      send: list(evals.sameCar),
      status: 200,
      body: { Photos: [] },
    },
    {
      says: 'works at any stage: in progress',
      send: list(evals.open),
      status: 200,
      body: { Photos: photos(41, 42) },
    },
    {
      says: 'works at any stage: right after /entervin',
      given: [post('/entervin', { vin: 'SAMPLEAU000000001' })],
      send: ({ evalId }) => list(evalId),
      status: 200,
      body: { Photos: [] },
    },
    ...noAccess('/imagelist', {}),
  ]),
  ...table('A §2 Photo', [
    {
      says: '`id`: integer image id; `url`: URI, signed link to the image',
      send: list(),
      status: 200,
      check: async ({ body }) => {
        const [photo] = listAt(body, 'Photos')
        expect(photo?.['id']).toBe(11)
        expect((await fetch(String(photo?.['url']))).status).toBe(200)
      },
    },
    {
      says: '`url`: signed for a time: a day, then it leads nowhere (reading)',
      send: list(),
      status: 200,
      check: async ({ body }, session) => {
        const url = String(at(body, 'Photos.0.url'))
        session.advance(86_399)
        expect((await fetch(url)).headers.get('content-type')).toContain('image/svg+xml')
        session.advance(1)
        expect((await fetch(url)).status).toBe(403)
      },
    },
    {
      says: '`url`: signed: without its signature it leads nowhere',
      send: list(),
      status: 200,
      check: async ({ body }) => {
        const url = String(at(body, 'Photos.0.url'))
        expect((await fetch(url.replace(/\?.*/, ''))).status).toBe(403)
        expect((await fetch(url.replace('/11.svg', '/12.svg'))).status).toBe(403)
      },
    },
    {
      says: '`order`: display order, 1-based; null when none was supplied',
      send: list(evals.open),
      status: 200,
      body: { Photos: [{ order: null }, { order: null }] },
    },
    { says: '`hero`: true for the single hero photo', send: list(), status: 200, check: oneHero },
    {
      says: '`heroSource`: default when the first photo acts as hero; null on non-hero photos',
      send: list(),
      status: 200,
      body: {
        Photos: [{ heroSource: 'default' }, { heroSource: null }, { heroSource: null }],
      },
    },
    {
      says: '`heroSource`: manual when pinned',
      send: hero(12),
      status: 200,
      body: { Photos: [{ heroSource: null }, { heroSource: 'manual' }, { heroSource: null }] },
    },
    {
      says: '`angle`: string or null: photo angle label',
      send: list(),
      status: 200,
      body: { Photos: [{ angle: 'front' }, { angle: null }, { angle: null }] },
    },
  ]),
  ...table('A §3 Photo hero', [
    {
      says: 'when nothing is pinned the hero is the first photo in display order',
      send: list(evals.open),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[41, 'default']]),
    },
    {
      says: 'pinned by /imagehero with an image id: heroSource manual',
      given: [hero(12)],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[12, 'manual']]),
    },
    {
      says: 'pinned by `hero` on /imageorder: heroSource manual',
      given: [order({ ids: [11, 12, 13], hero: 13 })],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[13, 'manual']]),
    },
    {
      says: 'the pin persists until changed: a new photo in front does not move it',
      given: [hero(12), upload({ evalid: String(evals.done), order: '1' }, [files.jpeg])],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[12, 'manual']]),
    },
    {
      says: 'the pin persists until changed: another one takes its place',
      given: [hero(12), hero(13)],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[13, 'manual']]),
    },
    {
      says: '/imagehero with `imgid: null` returns to the default',
      given: [hero(12), hero(null)],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[11, 'default']]),
    },
    {
      says: 'pinned by `hero` on /imageupload: cleared by /imagehero null',
      given: [upload({ evalid: String(evals.done), hero: '1' }, [files.jpeg]), hero(null)],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[11, 'default']]),
    },
    {
      says: 'a photo uploaded without an order comes after those that have one (reading)',
      given: [upload({ evalid: String(evals.done), timestamp: '1' }, [files.jpeg])],
      send: list(),
      status: 200,
      check: ({ body }) =>
        expect(
          listAt(body, 'Photos')
            .map(({ id }) => id)
            .slice(0, 3),
        ).toEqual([11, 12, 13]),
    },
    {
      says: 'changed photos are part of the evaluation: /geteval shows them [A §2 Photos]',
      given: [order({ ids: [12, 11, 13], hero: 11 })],
      send: post('/geteval', { evalid: evals.done }),
      status: 200,
      body: [{ Photos: photos(12, 11, 13), UpdatedAt: instant }],
    },
    {
      says: 'another group changes its own photos alone',
      send: post('/imagelist', { evalid: evals.otherGroup }, three),
      status: 200,
      body: { Photos: photos(31) },
    },
  ]),
]

function oneHero({ body }: { readonly body: unknown }): void {
  expect(heroes(body)).toHaveLength(1)
}
