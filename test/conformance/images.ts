import { expect } from 'vitest'
import { at, carPics, failure, files, listAt } from './patterns.ts'
import { expecting, post, table, upload } from './row.ts'
import { evals, who } from './world.ts'

const { jpeg, png, empty, noImage, truncated, halfPng, drawing } = files
const { us, two, wrong } = who
const done = { evalid: String(evals.done) }
const open = { evalid: String(evals.open) }
/** A new evaluation in progress at the second rooftop has no photo. */
const bare = { evalid: String(evals.sameCar) }
const earlier = '1772000000'
const later = '1772900000'

/** Ids of the answer, in its order. */
const idsOf = (body: unknown) => listAt(body, 'CarPics').map(({ ID }) => ID)
const heroOf = (body: unknown) => listAt(body, 'CarPics').filter(({ hero }) => hero === true)
const newOf = (body: unknown, known: readonly string[]) =>
  listAt(body, 'CarPics').filter(({ ID }) => !known.includes(String(ID)))
const doneIds = ['11', '12', '13']

export const uploadRows = [
  ...table('A §4 /imageupload', [
    {
      says: 'response 201: the full photo list including the new photo',
      send: upload(done, [jpeg]),
      status: 201,
      check: ({ body }) => {
        expect(idsOf(body)).toEqual(expect.arrayContaining(doneIds))
        expect(newOf(body, doneIds)).toHaveLength(1)
      },
    },
    {
      says: 'CarPics: ID string, URL URI, hero boolean',
      send: upload(done, [png]),
      status: 201,
      check: ({ body }) => {
        for (const { ID, URL: url, hero } of listAt(body, 'CarPics')) {
          expect(ID).toBeTypeOf('string')
          expect(URL.canParse(String(url))).toBe(true)
          expect(hero).toBeTypeOf('boolean')
        }
      },
    },
    { says: '`evalid`: required', send: upload({}, [jpeg]), status: 400, body: failure },
    { says: '`evalid`: a number', send: upload({ evalid: 'x' }, [jpeg]), status: 400 },
    { says: '`file`: required', send: upload(done, []), status: 400, body: failure },
    {
      says: '`file`: under this name',
      send: upload(done, [{ ...jpeg, field: 'image' }]),
      status: 400,
    },
    { says: 'a form: JSON is none (reading: 400)', send: post('/imageupload', done), status: 400 },
    {
      says: '`order`: integer, 1-based: the photo carries it',
      send: upload({ ...bare, order: '3' }, [jpeg], two),
      status: 201,
      check: ({ body }) => expect(Number(at(body, 'CarPics.0.order'))).toBe(3),
    },
    { says: '`order`: 1-based: not 0', send: upload({ ...done, order: '0' }, [jpeg]), status: 400 },
    {
      says: '`order`: integer: not a word',
      send: upload({ ...done, order: 'first' }, [jpeg]),
      status: 400,
    },
    {
      says: '`order` left out: none is shown',
      send: upload(bare, [jpeg], two),
      status: 201,
      body: { CarPics: [{ order: null }] },
    },
    {
      says: 'display order is `order` when supplied',
      given: [upload({ ...bare, order: '2' }, [jpeg], two)],
      send: upload({ ...bare, order: '1' }, [jpeg], two),
      status: 201,
      check: ({ body }, { last }) => expect(idsOf(body)[1]).toBe(idsOf(last.body)[0]),
    },
    {
      says: 'else oldest `timestamp`',
      given: [upload({ ...bare, timestamp: later }, [jpeg], two)],
      send: upload({ ...bare, timestamp: earlier }, [jpeg], two),
      status: 201,
      check: ({ body }, { last }) => expect(idsOf(body)[1]).toBe(idsOf(last.body)[0]),
    },
    {
      says: '`timeStamp`: alias of `timestamp`',
      given: [upload({ ...bare, timeStamp: later }, [jpeg], two)],
      send: upload({ ...bare, timeStamp: earlier }, [jpeg], two),
      status: 201,
      check: ({ body }, { last }) => expect(idsOf(body)[1]).toBe(idsOf(last.body)[0]),
    },
    {
      says: '`timestamp`: integer',
      send: upload({ ...done, timestamp: 'yesterday' }, [jpeg]),
      status: 400,
    },
    {
      says: '`timestamp`: of a date (reading: 400)',
      send: upload({ ...done, timestamp: '9000000000000000' }, [jpeg]),
      status: 400,
    },
    {
      says: 'else upload time',
      given: [upload(bare, [jpeg], two), (session) => session.advance(10)],
      send: upload(bare, [jpeg], two),
      status: 201,
      check: ({ body }, { last }) => expect(idsOf(body)[0]).toBe(idsOf(last.body)[0]),
    },
    {
      says: '`order` is not unique and nothing renumbers',
      given: [(session) => session.advance(10)],
      send: upload({ ...done, order: '1' }, [jpeg]),
      status: 201,
      check: ({ body }) =>
        expect(listAt(body, 'CarPics').map(({ order }) => Number(order))).toEqual([1, 1, 2, 3]),
    },
    {
      says: 'ties of `order` break on upload time',
      given: [(session) => session.advance(10)],
      send: upload({ ...done, order: '1' }, [jpeg]),
      status: 201,
      check: ({ body }) => expect(idsOf(body)[0]).toBe('11'),
    },
    {
      says: 'ties break on upload time, then image id',
      given: [upload({ ...bare, order: '1' }, [jpeg], two)],
      send: upload({ ...bare, order: '1' }, [jpeg], two),
      status: 201,
      check: ({ body }) => {
        const ids = idsOf(body).map(Number)
        expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      },
    },
    ...['hero', 'firstPic'].map((name) => ({
      says: `\`${name}\`: 1 pins this photo, at any position`,
      send: upload({ ...done, [name]: '1' }, [jpeg]),
      status: 201,
      check: ({ body }: { body: unknown }) => {
        expect(heroOf(body)).toMatchObject([{ heroSource: 'manual' }])
        expect(heroOf(body)).toEqual(newOf(body, doneIds))
      },
    })),
    {
      says: '`hero`: 0 pins nothing: the first photo acts as hero',
      send: upload({ ...done, hero: '0' }, [jpeg]),
      status: 201,
      check: ({ body }) =>
        expect(heroOf(body)).toMatchObject([{ ID: '11', heroSource: 'default' }]),
    },
    {
      says: '`hero: 1` pins permanently: a later upload with order 1 does not move it',
      given: [upload({ ...bare, hero: '1' }, [jpeg], two)],
      send: upload({ ...bare, order: '1' }, [jpeg], two),
      status: 201,
      check: ({ body }, { last }) =>
        expect(heroOf(body)).toMatchObject([{ ID: idsOf(last.body)[0], heroSource: 'manual' }]),
    },
    {
      says: '`hero: 1` again: the pin moves to the newer photo',
      given: [upload({ ...bare, hero: '1' }, [jpeg], two)],
      send: upload({ ...bare, hero: '1' }, [jpeg], two),
      status: 201,
      check: ({ body }, { last }) => {
        expect(heroOf(body)).toHaveLength(1)
        expect(heroOf(body)[0]?.['ID']).not.toBe(idsOf(last.body)[0])
      },
    },
    {
      says: 'several files in one request are accepted when neither `order` nor `hero` is set',
      send: upload(bare, [jpeg, png], two),
      status: 201,
      check: async ({ body }) => {
        const links = listAt(body, 'CarPics').map(({ URL: url }) => fetch(String(url)))
        const types = (await Promise.all(links)).map(({ headers }) => headers.get('content-type'))
        expect(types).toEqual(['image/jpeg', 'image/png'])
      },
    },
    ...['hero', 'firstPic'].map((name) => ({
      says: `\`${name}: 0\` is set too: several files with it are a 400 (reading: "neither is set")`,
      send: upload({ ...done, [name]: '0' }, [jpeg, png]),
      status: 400,
    })),
    ...['order', 'hero', 'firstPic'].map((name) => ({
      says: `several files with \`${name}\`: 400`,
      send: upload({ ...bare, [name]: '1' }, [jpeg, png], two),
      status: 400,
      body: failure,
    })),
    {
      says: 'an evaluation in progress takes photos too: works before Complete',
      send: upload(open, [jpeg]),
      status: 201,
      check: ({ body }) => expect(listAt(body, 'CarPics')).toHaveLength(3),
    },
    {
      says: 'the photo is there afterwards: /imagelist has it',
      given: [upload(bare, [jpeg], two)],
      send: post('/imagelist', { evalid: evals.sameCar }, two),
      status: 200,
      check: ({ body }, { last }) =>
        expect(String(at(body, 'Photos.0.id'))).toBe(idsOf(last.body)[0]),
    },
    {
      says: 'the photo is there afterwards: its link leads to the image',
      send: upload(bare, [jpeg], two),
      status: 201,
      check: async ({ body }) => {
        const response = await fetch(String(at(body, 'CarPics.0.URL')))
        expect(response.headers.get('content-type')).toContain('image/jpeg')
        expect(new Uint8Array(await response.arrayBuffer())).toEqual(jpeg.bytes)
        const url = String(at(body, 'CarPics.0.URL'))
        expect((await fetch(url.replace(/signature=.*/, 'signature=0'))).status).toBe(403)
      },
    },
    {
      says: '400 evaluation this key may not write to: of another dealer group',
      send: upload({ evalid: String(evals.otherGroup) }, [jpeg]),
      status: 400,
      body: failure,
    },
    {
      says: '400 evaluation this key may not write to: none of that id',
      send: upload({ evalid: String(evals.unknown) }, [jpeg]),
      status: 400,
      body: failure,
    },
    ...(
      [
        ['zero-byte', empty],
        ['unreadable: no image at all', noImage],
        ['unreadable: cut off', truncated],
        ['unreadable: half of a PNG', halfPng],
        ['unreadable: a drawing', drawing],
      ] as const
    ).map(([what, file]) => ({
      says: `400 ${what} image`,
      send: upload(done, [file]),
      status: 400,
      body: failure,
    })),
    {
      says: '400 for several files when one is unreadable: none is stored (reading)',
      given: [{ ...upload(done, [jpeg, noImage]), expects: 400 }],
      send: post('/imagelist', { evalid: evals.done }),
      status: 200,
      body: { Photos: [{ id: 11 }, { id: 12 }, { id: 13 }] },
    },
    {
      says: '400 leaves the photos as they were',
      given: [
        upload(done, [noImage]),
        upload(done, [empty]),
        upload({ ...done, order: '0' }, [jpeg]),
        upload({ ...done, order: '1' }, [jpeg, png]),
        upload({ ...done, timestamp: '9000000000000000' }, [jpeg]),
      ].map((one) => expecting(400, one)),
      send: post('/imagelist', { evalid: evals.done }),
      status: 200,
      body: { Photos: [{ id: 11 }, { id: 12 }, { id: 13 }] },
    },
    { says: '403 invalid API key', send: upload(done, [jpeg], wrong), status: 403, body: failure },
    {
      says: '403 key not authorised for the rooftop',
      send: upload(done, [jpeg], { key: 'au-key', rooftop: 'au-foreign' }),
      status: 403,
      body: failure,
    },
    {
      says: '400, not 403, for an evaluation of another region',
      send: upload(done, [jpeg], us),
      status: 400,
    },
    {
      says: '500 image could not be stored: the first fits, the second does not',
      limits: { imageBytes: jpeg.bytes.length + 10 },
      given: [upload(bare, [jpeg], two)],
      send: upload(bare, [jpeg], two),
      status: 500,
      body: { error: expect.stringContaining('could not be stored') },
      check: async (_answer, session) => {
        const { body } = await session.send(post('/imagelist', { evalid: evals.sameCar }, two))
        expect(listAt(body, 'Photos')).toHaveLength(1)
      },
    },
  ]),
  ...table('A §2 Photo', [
    {
      says: 'CarPics rows: order is integer, string or null; heroSource and angle string or null',
      send: upload(done, [jpeg]),
      status: 201,
      check: ({ body }) => {
        for (const row of listAt(body, 'CarPics')) {
          expect(['number', 'string', 'object']).toContain(typeof row['order'])
          expect(['manual', 'default', null]).toContain(row['heroSource'])
          expect(row['angle'] === null || typeof row['angle'] === 'string').toBe(true)
        }
      },
    },
    {
      says: 'CarPics: in display order',
      send: upload({ ...done, order: '9' }, [jpeg]),
      status: 201,
      check: ({ body }) =>
        expect(body).toMatchObject({
          CarPics: [...carPics(11, 12, 13), { order: expect.anything() }],
        }),
    },
  ]),
]
