import { expect } from 'vitest'
import { at, instant, listAt, number, photos, text } from './patterns.ts'
import { post, type Send, table } from './row.ts'
import { evals, sharedVin, who } from './world.ts'

const { two, three, gcc, us, wrong } = who
const read = (fields?: object | string, by = who.one): Send => post('/geteval', fields, by)
const gala = { user: 'gala@example.com' }
/** One found, by id. */
const found = (...ids: number[]) => ids.map((EvalID) => ({ EvalID }))

export const getEvaluationRows = [
  ...table('A §4 /geteval', [
    {
      says: '`evalid`: response 200, array of Evaluation',
      send: read({ evalid: evals.done }),
      status: 200,
      body: found(evals.done),
    },
    {
      says: '`vin`: every completed eval in the dealer group for the VIN, no other',
      send: read({ vin: sharedVin }),
      status: 200,
      check: ({ body }) => expect(idsOf(body)).toEqual([evals.done, evals.sameCar]),
    },
    {
      says: '`vin`: several when searched by vin, whichever rooftop of the group asks',
      send: read({ vin: sharedVin }, two),
      status: 200,
      check: ({ body }) => expect(idsOf(body)).toEqual([evals.done, evals.sameCar]),
    },
    {
      says: '`vin`: another dealer group sees its own alone',
      send: read({ vin: sharedVin }, three),
      status: 200,
      body: found(evals.otherGroup),
    },
    ...[{ reg: 'ABC123' }, { registration: 'abc 123' }].map((fields) => ({
      says: `${Object.keys(fields)}: plate; several when searched by reg`,
      send: read(fields),
      status: 200,
      check: ({ body }: { body: unknown }) =>
        expect(idsOf(body)).toEqual([evals.done, evals.sameCar]),
    })),
    {
      says: '`state`: for plate lookup',
      send: read({ reg: 'ABC123', state: 'QLD' }),
      status: 200,
      body: found(evals.sameCar),
    },
    {
      says: '`state`: a plate of another state is not found',
      send: read({ reg: 'ABC123', state: 'WA' }),
      status: 400,
    },
    {
      says: 'one of evalid, vin, reg is required',
      send: read({}),
      status: 400,
    },
    { says: 'one of evalid, vin, reg is required: no body', send: read(), status: 400 },
    { says: '`evalid`: integer', send: read({ evalid: '1001' }), status: 400 },
    { says: '`evalid`: not a negative one', send: read({ evalid: -1 }), status: 400 },
    { says: '400: evaluation not found: by a VIN', send: read({ vin: 'NOSUCHVIN' }), status: 400 },
    { says: 'the body: JSON', send: read('{'), status: 400 },
    {
      says: '`evalid`: of another rooftop of the dealer group (reading)',
      send: read({ evalid: evals.sameCar }),
      status: 200,
      body: found(evals.sameCar),
    },
    {
      says: '`user`: user id to read on behalf of',
      send: read({ evalid: evals.done, user: '2' }),
      status: 200,
      body: found(evals.done),
    },
    {
      says: '`user`: or email',
      send: read({ evalid: evals.done, user: 'bea@example.com' }),
      status: 200,
      body: found(evals.done),
    },
    {
      says: '`user`: same dealer group: one of another group is forbidden',
      send: read({ evalid: evals.done, user: 'otto@example.com' }),
      status: 403,
    },
    {
      says: '`user` omitted: the user linked to the key is used',
      send: read({ evalid: evals.us }, us),
      status: 200,
      body: found(evals.us),
    },
    {
      says: 'completed evaluations only',
      send: read({ evalid: evals.open }),
      status: 400,
    },
    { says: '400: evaluation not found', send: read({ evalid: evals.unknown }), status: 400 },
    {
      says: '400: evaluation not found: of another dealer group',
      send: read({ evalid: evals.otherGroup }),
      status: 400,
    },
    {
      says: '400: user required and omitted',
      send: read({ evalid: evals.gcc }, gcc),
      status: 400,
    },
    {
      says: 'the same with `user`: 200',
      send: read({ evalid: evals.gcc, ...gala }, gcc),
      status: 200,
      body: found(evals.gcc),
    },
    { says: '403: invalid key', send: read({ evalid: evals.done }, wrong), status: 403 },
    {
      says: '403: forbidden: a rooftop the key is not authorised for',
      send: read({ evalid: evals.done }, { key: 'au-key', rooftop: 'au-foreign' }),
      status: 403,
    },
  ]),
  ...table('A §2 Evaluation', [
    {
      says: '`EvalID` integer, `VIN` string',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ EvalID: 1001, VIN: sharedVin }],
    },
    {
      says: '`CreatedAt`: ISO-8601 UTC with a Z designator',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ CreatedAt: instant }],
      check: ({ body }) =>
        expect(Date.parse(String(at(body, '0.CreatedAt')))).toBe(Date.UTC(2026, 2, 2, 1)),
    },
    {
      says: '`CompletedAt`: ISO-8601 UTC, populated once completed',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ CompletedAt: '2026-03-02T01:30:00.000Z' }],
    },
    {
      says: '`UpdatedAt`: present on every evaluation response: /geteval',
      send: read({ vin: sharedVin }),
      status: 200,
      body: [{ UpdatedAt: instant }, { UpdatedAt: instant }],
    },
    ...(
      [
        ['/entervin', post('/entervin', { vin: 'SAMPLEUS000000001' }, us), 201],
        ['/dcupdateeval', post('/dcupdateeval', { evalid: evals.open, km: 1 }), 200],
      ] as const
    ).map(([path, send, status]) => ({
      says: `CreatedAt and UpdatedAt are present on every evaluation response: ${path}`,
      send,
      status,
      body: { CreatedAt: instant, UpdatedAt: instant },
    })),
    {
      says: '`EntryDate`: `YYYY-MM-dd hh:mm:ss`, creation time in UTC, no zone designator',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ EntryDate: '2026-03-02 01:00:00' }],
    },
    {
      says: '`FinalPrice`: number',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ FinalPrice: 23_500 }],
    },
    {
      says: '`UserPrices`: empty array when none',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ UserPrices: [] }],
    },
    {
      says: '`UserPrices`: not filled by `price`',
      given: [post('/dcupdateeval', { evalid: evals.done, km: 1, price: 9000 })],
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ FinalPrice: 9000, UserPrices: [] }],
    },
    {
      says: '`UserName`, `UserEmail`: identify the salesperson',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ UserName: 'Alex Example', UserEmail: 'alex@example.com' }],
    },
    {
      says: '`UserName`, `UserEmail`: a link feature: fixed prefix, fixed suffix',
      send: read({ evalid: evals.watchDisabled }),
      status: 200,
      body: [
        {
          UserName: expect.stringMatching(/^Link Capture/),
          UserEmail: expect.stringMatching(/@link-capture\.invalid$/),
        },
      ],
    },
    {
      says: 'answers are JSON',
      send: read({ evalid: evals.done }),
      status: 200,
      check: ({ headers }) => expect(headers.get('content-type')).toContain('application/json'),
    },
    {
      says: '`Reconditioning`: number, total reconditioning cost',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ Reconditioning: 650.5 }],
    },
    {
      says: '`reconditioning_list`: item fields type, source, cost, value',
      send: read({ evalid: evals.done }),
      status: 200,
      check: ({ body }) => {
        for (const item of listAt(body, '0.reconditioning_list'))
          expect(Object.keys(item).sort()).toEqual(['cost', 'source', 'type', 'value'])
      },
    },
    {
      says: 'a battery reading: type info, a maker as source, cost 0, a percentage string',
      send: read({ evalid: evals.done }),
      status: 200,
      check: ({ body }) =>
        expect(listAt(body, '0.reconditioning_list')).toContainEqual({
          type: 'info',
          source: 'maker-x',
          cost: 0,
          value: '93%',
        }),
    },
    {
      says: '`CarPics`: photo list; `Photos`: projection returned alongside',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [
        {
          CarPics: [{ ID: '11' }, { ID: '12' }, { ID: '13' }],
          Photos: photos(11, 12, 13),
        },
      ],
    },
    {
      says: '`customFields`: object: names, types, options and current values',
      send: read({ evalid: evals.done }),
      status: 200,
      body: [{ customFields: { Lane: { type: 'select', options: ['A', 'B'], value: 'A' } } }],
    },
  ]),
  ...table('A §1 what the service does', [
    {
      says: 'an evaluation is not visible in the apps until it is Complete',
      send: read({ vin: 'JTMDFREV90D000001' }),
      status: 200,
      check: ({ body }) => expect(idsOf(body)).not.toContain(evals.open),
    },
    {
      says: 'creation flow 3: the first /dcupdateeval marks it Complete',
      given: [
        post('/entervin', { vin: 'SAMPLEAU000000001' }),
        ({ evalId }) => post('/dcupdateeval', { evalid: evalId, km: 50_000, price: 20_000 }),
      ],
      send: ({ evalId }) => read({ evalid: evalId }),
      status: 200,
      body: [{ CompletedAt: instant, FinalPrice: 20_000, VIN: 'SAMPLEAU000000001' }],
    },
    {
      says: 'creation flow 4: photos are optional',
      given: [
        post('/entervin', { vin: 'SAMPLEAU000000001' }),
        ({ evalId }) => post('/dcupdateeval', { evalid: evalId, km: 50_000 }),
      ],
      send: ({ evalId }) => read({ evalid: evalId }),
      status: 200,
      body: [{ Photos: [], CarPics: [] }],
    },
    {
      says: 'creation flow 6: pricing after Complete with mileage',
      given: [
        post('/entervin', { vin: 'SAMPLEAU000000001' }),
        ({ evalId }) => post('/dcupdateeval', { evalid: evalId, km: 50_000 }),
      ],
      send: ({ evalId }) => ({ method: 'GET', path: `/pricingAi/payload/${evalId}` }),
      status: 200,
      body: { confidence: text, prices: { retail: number } },
    },
  ]),
]

function idsOf(body: unknown): unknown[] {
  return listAt(body)
    .map(({ EvalID }) => Number(EvalID))
    .sort((a, b) => a - b)
}
