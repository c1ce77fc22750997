import { expect } from 'vitest'
import { carHistory, day, linkIn, pastPpsr, ppsr, watch } from './checks.ts'
import { at, failure, listAt } from './patterns.ts'
import { table } from './row.ts'
import { evals, now, who } from './world.ts'

const changing = evals.watchChanges

export const watchRows = [
  ...table('A §4 /ppsrwatch', [
    {
      says: '`not_watched` and no checks when no successful search exists',
      send: watch(),
      status: 200,
      body: { WatchStatus: 'not_watched', Checks: [] },
    },
    {
      says: '`not_watched` after a search that failed',
      given: [{ ...ppsr(evals.searchFails), expects: 400 }],
      send: watch(evals.searchFails),
      status: 200,
      body: { WatchStatus: 'not_watched', Checks: [] },
    },
    {
      says: '`not_watched` after a Car History report: that is not a search',
      given: [carHistory()],
      send: watch(),
      status: 200,
      body: { WatchStatus: 'not_watched', Checks: [] },
    },
    {
      says: 'top-level WatchStatus plus Checks[]',
      given: [ppsr()],
      send: watch(),
      status: 200,
      check: ({ body }, { last }) =>
        expect(body).toEqual({
          WatchStatus: 'watching',
          Checks: [{ ID: at(last.body, 'ID'), WatchStatus: 'watching', CheckedAt: now }],
        }),
    },
    {
      says: 'reports whether security-interest details changed since a search',
      given: [
        ppsr(changing),
        (session) => session.advance(3 * day - 0.001),
        watch(changing),
        (session) => session.advance(0.001),
      ],
      send: watch(changing),
      status: 200,
      body: { WatchStatus: 'changed' },
      check: (_answer, { last }) => expect(at(last.body, 'WatchStatus')).toBe('unchanged'),
    },
    {
      says: 'top-level is the most noteworthy across checks',
      given: [ppsr(changing), (session) => session.advance(4 * day), ppsr(changing)],
      send: watch(changing),
      status: 200,
      body: { WatchStatus: 'changed', Checks: [expect.any(Object), expect.any(Object)] },
      check: ({ body }) =>
        expect(listAt(body, 'Checks').map(({ WatchStatus }) => WatchStatus)).toContain('watching'),
    },
    {
      says: 'most noteworthy first: expired before watching',
      given: [ppsr(evals.open), (session) => session.advance(15 * day), ppsr(evals.open)],
      send: watch(evals.open),
      status: 200,
      check: ({ body }) => expect(at(body, 'WatchStatus')).toMatch(/^(expired|changed)$/),
    },
    {
      says: 'free to poll: polling changes nothing',
      limits: { ppsrPerDay: 1, ppsrPerVehicle: 1 },
      given: [ppsr(), watch(), watch(), watch()],
      send: watch(),
      status: 200,
      body: { Checks: [expect.any(Object)] },
    },
    {
      says: 'a watch off is `disabled`',
      given: [ppsr(evals.watchDisabled)],
      send: watch(evals.watchDisabled),
      status: 200,
      body: { WatchStatus: 'disabled' },
    },
    {
      says: 'a search at another rooftop of the group is seen too (as /getpastppsrsearch; reading)',
      given: [ppsr(evals.sameCar, who.two)],
      send: watch(evals.done),
      status: 200,
      body: { Checks: [expect.any(Object)] },
    },
  ]),
  ...table('A §3 PPSR watch', [
    {
      says: 'status values are the six of the document',
      given: [ppsr(), (session) => session.advance(2 * day)],
      send: watch(),
      status: 200,
      check: ({ body }) =>
        expect([
          'changed',
          'expired',
          'watching',
          'unchanged',
          'disabled',
          'not_watched',
        ]).toContain(at(body, 'WatchStatus')),
    },
    {
      says: 'a check that is `changed` never changes again',
      given: [ppsr(changing), (session) => session.advance(60 * day)],
      send: watch(changing),
      status: 200,
      body: { WatchStatus: 'changed' },
    },
    {
      says: 'a check that is `expired` never changes again',
      given: [
        ppsr(evals.open),
        (session) => session.advance(15 * day),
        watch(evals.open),
        (session) => session.advance(60 * day),
      ],
      send: watch(evals.open),
      status: 200,
      check: ({ body }, { last }) =>
        expect(at(body, 'WatchStatus')).toBe(at(last.body, 'WatchStatus')),
    },
    {
      says: '/ppsrsearch starts a fresh 14-day watch',
      given: [
        ppsr(evals.open),
        (session) => session.advance(20 * day),
        ppsr(evals.open),
        (session) => session.advance(10),
      ],
      send: pastPpsr(evals.open),
      status: 200,
      check: ({ body }) => {
        expect(at(body, '0.WatchStatus')).toBe('watching')
        expect(at(body, '1.WatchStatus')).toMatch(/^(expired|changed)$/)
      },
    },
  ]),
  ...table('A §8 limits', [
    {
      says: 'PPSR watch period: 14 days per search: not expired before',
      given: [ppsr(evals.open), (session) => session.advance(14 * day - 60)],
      send: watch(evals.open),
      status: 200,
      check: ({ body }) => expect(at(body, 'WatchStatus')).not.toBe('expired'),
    },
    {
      says: 'PPSR watch period: 14 days per search: over afterwards',
      given: [ppsr(evals.open), (session) => session.advance(14 * day + 60)],
      send: watch(evals.open),
      status: 200,
      check: ({ body }) => expect(at(body, 'WatchStatus')).toMatch(/^(expired|changed)$/),
    },
    {
      says: 'signed PDF links: valid 1 week: still there in the last millisecond',
      given: [ppsr()],
      send: pastPpsr(),
      status: 200,
      check: async ({ body }, session) => {
        session.advance(7 * day - 0.001)
        expect((await fetch(linkIn(body))).status).toBe(200)
      },
    },
    {
      says: 'signed PDF links: valid 1 week: gone afterwards',
      given: [ppsr()],
      send: pastPpsr(),
      status: 200,
      check: async ({ body }, session) => {
        session.advance(7 * day)
        const expired = await fetch(linkIn(body))
        expect([expired.status, await expired.json()]).toEqual([403, failure])
        const fresh = await session.send(pastPpsr())
        expect((await fetch(linkIn(fresh.body))).status).toBe(200)
      },
    },
  ]),
]
