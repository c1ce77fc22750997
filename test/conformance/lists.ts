import { expect } from 'vitest'
import { listAt, text } from './patterns.ts'
import { post, type Send, table } from './row.ts'
import { evals, who } from './world.ts'

const { two, three, us, wrong } = who
const list = (body?: unknown, by = who.one): Send => post('/getevallist', body, by)
const users = (body?: unknown, by = who.one): Send => post('/getuserlist', body, by)
const ids = (body: unknown) => listAt(body).map(({ EvalID }) => EvalID)
const names = (body: unknown) => listAt(body).map(({ Name }) => Name)
const seconds = (iso: string) => Date.parse(iso) / 1000
/** EntryDate of `evals.done`. */
const entry = seconds('2026-03-02T01:00:00Z')

export const listRows = [
  ...table('A §4 /getevallist', [
    { says: 'body optional: no body', send: list(), status: 200, check: names200 },
    { says: 'body optional: an empty object', send: list({}), status: 200, check: names200 },
    {
      says: 'response 200: completed evaluations of the dealer group: every rooftop of it',
      send: list(),
      status: 200,
      check: ({ body }) =>
        expect(ids(body)).toEqual(expect.arrayContaining([evals.done, evals.sameCar])),
    },
    {
      says: 'response 200: completed ones only',
      send: list(),
      status: 200,
      check: ({ body }) => expect(ids(body)).not.toContain(evals.open),
    },
    {
      says: 'response 200: of the dealer group only',
      send: list(undefined, three),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.otherGroup]),
    },
    {
      says: '`startdate`: exclusive lower bound on EntryDate, Unix seconds',
      send: list({ startdate: entry }),
      status: 200,
      check: ({ body }) => expect(ids(body)).not.toContain(evals.done),
    },
    {
      says: '`startdate`: a second before EntryDate includes it',
      send: list({ startdate: entry - 1 }),
      status: 200,
      check: ({ body }) => expect(ids(body)).toContain(evals.done),
    },
    {
      says: '`enddate`: exclusive upper bound, Unix seconds',
      send: list({ enddate: entry }),
      status: 200,
      check: ({ body }) => expect(ids(body)).not.toContain(evals.done),
    },
    {
      says: '`enddate`: a second after EntryDate includes it',
      send: list({ enddate: entry + 1 }),
      status: 200,
      check: ({ body }) => expect(ids(body)).toContain(evals.done),
    },
    {
      says: 'both bounds: just the one between them',
      send: list({ startdate: entry - 1, enddate: entry + 1, user: '1' }),
      status: 200,
      check: ({ body }) => expect(ids(body)).toContain(evals.done),
    },
    {
      says: '`enddate` omitted: includes the most recent',
      given: [
        post('/entervin', { vin: 'SAMPLEAU000000001' }),
        ({ evalId }) => post('/dcupdateeval', { evalid: evalId, km: 1 }),
      ],
      send: list({ startdate: entry }),
      status: 200,
      check: ({ body }, { evalId }) => expect(ids(body)).toContain(evalId),
    },
    {
      says: 'bounds are on EntryDate: one completed later is found by its creation',
      given: [post('/dcupdateeval', { evalid: evals.open, km: 1 })],
      send: list({ startdate: seconds('2026-03-09T00:00:00Z') }),
      status: 200,
      check: ({ body }) => expect(ids(body)).not.toContain(evals.open),
    },
    ...[
      { startdate: '2026-03-01' },
      { startdate: '1772409600' },
      { startdate: 1.5 },
      { dealerId: 101 },
      { dealerId: '["101"]' },
      { user: 7 },
      [1],
      '{"startdate": 1',
    ].map((body) => ({
      says: `the types of the fields: not ${JSON.stringify(body)}`,
      send: list(body),
      status: 400,
    })),
    {
      says: '`user`: email',
      send: list({ user: 'ABA@example.com' }),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.sameCar]),
    },
    {
      says: '`user`: id',
      send: list({ user: '5' }),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.sameCar]),
    },
    {
      says: '`user`: one that is not there has no evaluations',
      send: list({ user: 'nobody@example.com' }),
      status: 200,
      body: [],
    },
    {
      says: '`dealerId`: string holding a JSON array of dealership ids',
      send: list({ dealerId: '[102]' }),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.sameCar]),
    },
    {
      says: '`dealerId`: several ids',
      send: list({ dealerId: '[101,102]' }),
      status: 200,
      check: names200,
    },
    {
      says: '`dealerId`: another group is not opened by it',
      send: list({ dealerId: '[103]' }),
      status: 200,
      body: [],
    },
    { says: '`dealerId`: string, not an array', send: list({ dealerId: [102] }), status: 400 },
    { says: '`dealerId`: a JSON array', send: list({ dealerId: '102' }), status: 400 },
    {
      says: 'do not send `from` / `to` date strings (reading: refused with 400)',
      send: list({ from: '2026-03-01', to: '2026-03-02' }),
      status: 400,
    },
    { says: '403 invalid API key [A §5.1]', send: list({}, wrong), status: 403 },
  ]),
  ...table('A §4 /getuserlist', [
    {
      says: 'body optional; users of the whole dealer group (all rooftops), ordered by name',
      send: users(),
      status: 200,
      check: ({ body }) =>
        expect(names(body)).toEqual(['Aba Second', 'Alex Example', 'Bea Example']),
    },
    {
      says: 'the other rooftop of the group gives the same',
      send: users({}, two),
      status: 200,
      check: ({ body }) =>
        expect(names(body)).toEqual(['Aba Second', 'Alex Example', 'Bea Example']),
    },
    {
      says: 'generated link-capture accounts are never returned',
      send: users({ includeInactive: true }),
      status: 200,
      check: ({ body }) => expect(JSON.stringify(body)).not.toContain('link-capture'),
    },
    {
      says: 'generated link-capture accounts are never returned: asked for by email',
      send: users({ includeInactive: true, user: 'link-4@link-capture.invalid' }),
      status: 200,
      body: [],
    },
    {
      says: 'only active users by default',
      send: users({}),
      status: 200,
      check: ({ body }) => expect(names(body)).not.toContain('Aaron Away'),
    },
    {
      says: '`includeInactive`: true',
      send: users({ includeInactive: true }),
      status: 200,
      check: ({ body }) => expect(names(body)[0]).toBe('Aaron Away'),
    },
    {
      says: '`includeInactive`: boolean',
      send: users({ includeInactive: 'yes' }),
      status: 400,
    },
    {
      says: '`user`: email, same dealer group',
      send: users({ user: 'BEA@example.com' }),
      status: 200,
      check: ({ body }) =>
        expect(body).toEqual([{ Name: 'Bea Example', Email: 'bea@example.com' }]),
    },
    {
      says: '`user`: UserID',
      send: users({ user: '2' }),
      status: 200,
      body: [{ Name: 'Bea Example' }],
    },
    {
      says: '`dealerId`: string, JSON array of dealership ids',
      send: users({ dealerId: '[102]' }),
      status: 200,
      body: [{ Name: 'Aba Second' }],
    },
    {
      says: '`dealerId` of another dealer group: none match',
      send: users({ dealerId: '[103]' }),
      status: 200,
      body: [],
    },
    { says: '`dealerId`: string, not an array', send: users({ dealerId: [101] }), status: 400 },
    {
      says: 'empty array when none match',
      send: users({ user: 'nobody@example.com' }),
      status: 200,
      body: [],
    },
    {
      says: '`user` of another dealer group: none match',
      send: users({ user: 'otto@example.com' }),
      status: 200,
      body: [],
    },
    { says: '403 invalid key', send: users({}, wrong), status: 403 },
    {
      says: '403 forbidden: a rooftop the key is not authorised for',
      send: users({}, { key: 'au-key', rooftop: 'au-foreign' }),
      status: 403,
    },
  ]),
  ...table('A §2 User', [
    {
      says: 'Name string, Email string',
      send: users({}, us),
      status: 200,
      body: [{ Name: text, Email: text }],
    },
    {
      says: 'Email: use as `userEmail` on /dcupdateeval',
      given: [users({ user: '2' })],
      send: ({ last }) =>
        post('/dcupdateeval', {
          evalid: evals.open,
          km: 1,
          userEmail: listAt(last.body)[0]?.['Email'],
        }),
      status: 200,
      body: { UserName: 'Bea Example' },
    },
  ]),
]

/** Everything that is complete in the first group. */
function names200({ body }: { readonly body: unknown }): void {
  expect(ids(body)).toHaveLength(10)
}
