import { expect } from 'vitest'
import { failure, listAt, photos } from './patterns.ts'
import { hero, heroes, list, noAccess, order } from './photos.ts'
import { expecting, table } from './row.ts'
import { evals } from './world.ts'

export const imageOrderRows = [
  ...table('A §4 /imageorder', [
    {
      says: '`ids`: array of integers, in desired order; response 200 success and new order',
      send: order({ ids: [13, 11, 12] }),
      status: 200,
      body: { success: true, Photos: photos(13, 11, 12) },
    },
    {
      says: '`ids`: or a comma-separated string',
      send: order({ ids: ' 12, 13,11 ' }),
      status: 200,
      body: { Photos: photos(12, 13, 11) },
    },
    {
      says: '`order` gives the display order, 1-based [A §2 Photo]',
      send: order({ ids: [13, 11, 12] }),
      status: 200,
      body: {
        Photos: [
          { id: 13, order: 1 },
          { id: 11, order: 2 },
          { id: 12, order: 3 },
        ],
      },
    },
    {
      says: 'the new order persists',
      given: [order({ ids: [13, 11, 12] })],
      send: list(),
      status: 200,
      body: { Photos: photos(13, 11, 12) },
    },
    {
      says: 'need not list all: ids left out keep their relative order after the listed ones',
      send: order({ ids: [13] }),
      status: 200,
      body: { Photos: photos(13, 11, 12) },
    },
    {
      says: 'ids from another evaluation are ignored',
      send: order({ ids: [31, 13, 41, 12] }),
      status: 200,
      body: { Photos: photos(13, 12, 11) },
    },
    {
      says: 'ids from another evaluation are ignored: nothing but those changes nothing',
      send: order({ ids: [31, 999_999] }),
      status: 200,
      body: { success: true, Photos: photos(11, 12, 13) },
    },
    {
      says: 'an id that is listed twice counts once (reading)',
      send: order({ ids: [13, 12, 13] }),
      status: 200,
      check: ({ body }) => expect(listAt(body, 'Photos').map(({ id }) => id)).toEqual([13, 12, 11]),
    },
    {
      says: 'an evaluation without photos has nothing to order',
      send: order({ ids: [11] }, evals.sameCar),
      status: 200,
      body: { success: true, Photos: [] },
    },
    {
      says: 'photos that had no order are ordered too',
      send: order({ ids: [42] }, evals.open),
      status: 200,
      body: {
        Photos: [
          { id: 42, order: 1 },
          { id: 41, order: 2 },
        ],
      },
    },
    {
      says: '`hero`: image id to pin after the reorder',
      send: order({ ids: [13, 12, 11], hero: 12 }),
      status: 200,
      body: { Photos: photos(13, 12, 11) },
      check: ({ body }) => expect(heroes(body)).toEqual([[12, 'manual']]),
    },
    {
      says: 'reordering never moves the hero: a pinned one stays',
      given: [hero(12)],
      send: order({ ids: [13, 11, 12] }),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[12, 'manual']]),
    },
    {
      says: 'nothing pinned: the hero is the first in the new display order (reading: §3)',
      send: order({ ids: [13, 11, 12] }),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[13, 'default']]),
    },
    { says: '400 `ids` missing', send: order({}), status: 400 },
    { says: '400 `ids` empty: array', send: order({ ids: [] }), status: 400 },
    { says: '400 `ids` empty: string', send: order({ ids: '' }), status: 400 },
    { says: '400 `ids` non-numeric: string', send: order({ ids: '11,front' }), status: 400 },
    { says: '400 `ids` non-numeric: array', send: order({ ids: ['front'] }), status: 400 },
    {
      says: '400: nothing changed (reading: one number is not a list)',
      given: [expecting(400, order({ ids: 13, hero: 13 }))],
      send: list(),
      status: 200,
      body: { Photos: photos(11, 12, 13) },
      check: ({ body }) => expect(heroes(body)).toEqual([[11, 'default']]),
    },
    ...noAccess('/imageorder', { ids: [11] }),
    {
      says: '404 `hero` not an image on this evaluation; body `{ error: string }`',
      send: order({ ids: [13, 11, 12], hero: 31 }),
      status: 404,
      body: failure,
    },
    {
      says: '404: the reorder is already applied',
      given: [expecting(404, order({ ids: [13, 11, 12], hero: 31 }))],
      send: list(),
      status: 200,
      body: { Photos: photos(13, 11, 12) },
    },
    {
      says: '404: the hero is not pinned',
      given: [hero(12), expecting(404, order({ ids: [13, 11, 12], hero: 31 }))],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[12, 'manual']]),
    },
  ]),
  ...table('A §4 /imagehero', [
    {
      says: '`imgid`: image id to pin; response 200 success, Photos in display order',
      send: hero(13),
      status: 200,
      body: { success: true, Photos: photos(11, 12, 13) },
      check: ({ body }) => expect(heroes(body)).toEqual([[13, 'manual']]),
    },
    {
      says: '`imgid`: null clears the pin',
      given: [hero(13)],
      send: hero(null),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[11, 'default']]),
    },
    { says: '`imgid`: integer or null: a word is neither', send: hero('front'), status: 400 },
    { says: '`imgid` missing (reading: 400)', send: hero(undefined), status: 400 },
    ...noAccess('/imagehero', { imgid: 11 }),
    {
      says: '404 `imgid` is not an image on this evaluation: of another one',
      send: hero(31),
      status: 404,
      body: failure,
    },
    {
      says: '404 `imgid` is not an image on this evaluation: of none',
      send: hero(999_999),
      status: 404,
      body: failure,
    },
    {
      says: '404: nothing changed',
      given: [hero(12), expecting(404, hero(31))],
      send: list(),
      status: 200,
      check: ({ body }) => expect(heroes(body)).toEqual([[12, 'manual']]),
    },
  ]),
]
