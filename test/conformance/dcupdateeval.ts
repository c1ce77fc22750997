import { expect } from 'vitest'
import type { ApiSession } from './api-session.ts'
import { at, guideFields, instant, listAt, number, text } from './patterns.ts'
import { post, type Send, table } from './row.ts'
import { evals, now, who } from './world.ts'

const path = '/dcupdateeval'
const { one, two, us, gcc, wrong } = who
/** POSTs fields with a mileage. */
export const update = (fields: object, evalid: number = evals.open, by = one): Send =>
  post(path, { evalid, km: 48_000, ...fields }, by)

/** Fields of the table that any value of their type fits. */
const typed: readonly (readonly [string, unknown, unknown])[] = [
  ['notes', 'Scratched door', 5],
  ['vin', 'JTMDFREV90D999999', 5],
  ['financename', 'Example Bank', 5],
  ['financeamt', 12_000, '12000'],
  ['financepmt', 350, 'much'],
  ['recondetail', 99.5, '99'],
  ['reconrims', 100, '100'],
  ['reconpaint', 100, '100'],
  ['reconint', 100, '100'],
  ['reconrego', 100, '100'],
  ['reconscreen', 100, '100'],
  ['reconrwc', 100, '100'],
  ['recontyres', 2, 'two'],
  ['wtymth', 6, 'June'],
  ['wtyyear', 2027, 'next'],
  ['svcmth', 3, 'March'],
  ['svcyear', 2026, 'this'],
  ['cName', 'Sam Buyer', 5],
  ['cPhone', '0400 000 000', 400_000_000],
  ['cEmail', 'sam@example.org', false],
  ['cPCode', '2000', 2000],
  ['cState', 'NSW', 5],
  ['cAddress', '2 Example Road', 5],
  ['cSuburb', 'Sydney', 5],
  ['price', 21_000, '21000'],
  ['pricingAi', true, 'yes'],
  ['reasoning', true, 'yes'],
  ['gccPriceGuide', true, 'yes'],
]

/** Fields that come back under their names. */
const history = {
  sparekey: 0,
  service: 6,
  financed: 1,
  financename: 'Bank',
  financeamt: 9000,
  financepmt: 300,
  wtymth: 5,
  wtyyear: 2027,
  svcmth: 1,
  svcyear: 2026,
}

/** Whole numbers from one to another; the values beside them do not fit. */
const ranged: readonly (readonly [string, number, number])[] = [
  ['condition', 0, 10],
  ['sparekey', 0, 1],
  ['financed', 0, 1],
  ['service', 0, 6],
]

export const updateEvaluationRows = [
  ...table('A §4 /dcupdateeval', [
    { says: '`evalid`: required', send: post(path, { km: 1 }), status: 400 },
    { says: '`evalid`: integer', send: post(path, { evalid: 'x', km: 1 }), status: 400 },
    {
      says: '`km`: required; needed the first time',
      send: post(path, { evalid: evals.open }),
      status: 400,
      body: { error: expect.stringContaining('km') },
    },
    {
      says: '`km`: needed the first time alone: a later call without it leaves it as it is [A §3]',
      send: post(path, { evalid: evals.done, notes: 'Later' }),
      status: 200,
      body: { Notes: 'Later', Odometer: 48_000 },
    },
    { says: '`km`: integer', send: update({ km: 12.5 }), status: 400 },
    { says: '`km`: integer, no text', send: update({ km: '48000' }), status: 400 },
    { says: '`price`: integer (reading)', send: update({ price: 10.5 }), status: 400 },
    ...typed.map(([name, value]) => ({
      says: `\`${name}\` is taken`,
      send: update({ [name]: value }),
      status: 200,
      body: { EvalID: evals.open },
    })),
    ...typed.map(([name, , misfit]) => ({
      says: `\`${name}\` of a wrong type is not`,
      send: update({ [name]: misfit }),
      status: 400,
      body: { error: expect.stringContaining(name) },
    })),
    ...ranged.flatMap(([name, low, high]) => [
      { says: `\`${name}\`: ${low} is taken`, send: update({ [name]: low }), status: 200 },
      { says: `\`${name}\`: ${high} is taken`, send: update({ [name]: high }), status: 200 },
      ...[low - 1, high + 1, low + 0.5].map((value) => ({
        says: `\`${name}\`: not ${value}`,
        send: update({ [name]: value }),
        status: 400,
        body: { error: expect.stringContaining(name) },
      })),
    ]),
    {
      says: 'odometer, notes, condition, VIN and customer come back',
      send: update({
        notes: 'Tidy',
        condition: 0,
        vin: ' jtmdfrev90d999999 ',
        cName: 'Sam Buyer',
        cPhone: '0400 000 000',
        cEmail: 'sam@example.org',
        cPCode: '2000',
        cState: 'NSW',
        cAddress: '2 Example Road',
        cSuburb: 'Sydney',
        ...history,
      }),
      status: 200,
      body: {
        ...history,
        Odometer: 48_000,
        Notes: 'Tidy',
        Condition: 0,
        VIN: 'JTMDFREV90D999999',
        CustomerName: 'Sam Buyer',
        CustomerPhone: '0400 000 000',
        CustomerEmail: 'sam@example.org',
        CustomerPostcode: '2000',
        CustomerState: 'NSW',
        CustomerAddress: '2 Example Road',
        CustomerSuburb: 'Sydney',
      },
    },
    {
      says: 'reconditioning amounts: Reconditioning is their total',
      send: update({ recondetail: 100, reconrims: 50.5, reconpaint: 300 }),
      status: 200,
      body: { Reconditioning: 450.5 },
    },
    {
      says: 'reconditioning amounts: reconditioning_list holds them as line items',
      send: update({
        recondetail: 120.5,
        reconrims: 200,
        reconpaint: 300,
        reconint: 40,
        reconrego: 50,
        reconscreen: 60,
        reconrwc: 70,
        recontyres: 2,
      }),
      status: 200,
      check: ({ body }) => {
        const lines = listAt(body, 'reconditioning_list')
        expect(lines.map(({ type, cost }) => [type, cost])).toEqual([
          ['detail', 120.5],
          ['rims', 200],
          ['paint', 300],
          ['interior', 40],
          ['rego', 50],
          ['screen', 60],
          ['rwc', 70],
          ['tyres', number],
        ])
        expect(at(body, 'Reconditioning')).toBe(840.5 + Number(lines[7]?.['cost']))
      },
    },
    {
      says: '`recontyres`: number of tyres to replace: a line of the list',
      send: update({ recontyres: 3 }),
      status: 200,
      check: ({ body }) =>
        expect(JSON.stringify(listAt(body, 'reconditioning_list'))).toMatch(/tyre.*3/),
    },
    {
      says: '`customFields`: object, string values, by the exact configured names',
      send: update({ customFields: { Lane: 'B', Remark: 'Mind the dog' } }, evals.done),
      status: 200,
      check: ({ body }) => {
        expect(at(body, 'customFields.Lane')).toMatchObject({ options: ['A', 'B'], value: 'B' })
        expect(at(body, 'customFields.Remark')).toMatchObject({ value: 'Mind the dog' })
      },
    },
    {
      says: '`customFields`: string values, not numbers',
      send: update({ customFields: { Lane: 5 } }, evals.done),
      status: 400,
      body: { error: expect.stringContaining('customFields') },
    },
    {
      says: '`customFields`: another name than a configured one (reading: 400)',
      send: update({ customFields: { lane: 'B' } }, evals.done),
      status: 400,
    },
    {
      says: '`customFields`: configured names: those of the dealer group, on an evaluation without (reading)',
      send: update({ customFields: { Lane: 'B' } }),
      status: 200,
      check: ({ body }) =>
        expect(at(body, 'customFields')).toEqual({
          Lane: { type: 'select', options: ['A', 'B'], value: 'B' },
        }),
    },
    {
      says: '`customFields`: configured names: a new evaluation has them, read from the answer',
      given: [post('/entervin', { vin: 'SAMPLEAU000000001' })],
      send: ({ last, evalId }) =>
        update({ customFields: { [firstCustomField(last.body)]: 'Set' } }, evalId),
      status: 200,
      check: ({ body }, { last }) =>
        expect(at(body, 'customFields')).toMatchObject({
          [firstCustomField(last.body)]: { value: 'Set' },
        }),
    },
    ...['price', 'finalprice', 'FinalPrice'].map((name) => ({
      says: `\`${name}\`: appraisal amount, stored as FinalPrice`,
      send: update({ [name]: 0 }),
      status: 200,
      body: { FinalPrice: 0, UserPrices: [] },
    })),
    {
      says: 'stored: /geteval reads the FinalPrice back',
      given: [update({ finalprice: 21_000 })],
      send: post('/geteval', { evalid: evals.open }),
      status: 200,
      body: [{ FinalPrice: 21_000 }],
    },
    {
      says: '`pricingAi`: include the pricing payload on the response',
      send: update({ pricingAi: true }, evals.done),
      status: 200,
      body: {
        pricingAi: {
          confidence: text,
          prices: { wholesale: number, retail: number },
          currency_symbol: '$',
          evalId: evals.done,
        },
      },
    },
    {
      says: '`pricingAi` false or left out: no pricing payload',
      send: update({ pricingAi: false }, evals.done),
      status: 200,
      lacks: ['pricingAi'],
    },
    {
      says: '`reasoning`: with pricingAi, include reasoning',
      send: update({ pricingAi: true, reasoning: true }, evals.done),
      status: 200,
      body: { pricingAi: { reasoning: { status: 'processing' } } },
    },
    {
      says: '`pricingAi` on the first call: it is complete by then',
      send: update({ pricingAi: true }),
      status: 200,
      body: { CompletedAt: now, pricingAi: { evalId: evals.open } },
    },
    {
      says: '`reasoning`: without pricingAi there is nothing to reason about',
      send: update({ reasoning: true }),
      status: 200,
      lacks: ['pricingAi', 'reasoning'],
    },
    {
      says: '`reasoning`: without it, the payload has none',
      send: update({ pricingAi: true }, evals.done),
      status: 200,
      check: ({ body }) => expect(at(body, 'pricingAi')).not.toHaveProperty('reasoning'),
    },
    {
      says: '`userEmail`: salesperson email from /getuserlist',
      send: update({ userEmail: 'BEA@example.com' }),
      status: 200,
      body: { UserName: 'Bea Example', UserEmail: 'bea@example.com' },
    },
    ...(
      [
        ['no user of this dealer group', 'otto@example.com'],
        ['no user at all', 'nobody@example.com'],
        ['no active user', 'aaron@example.com'],
        ['no account of a link', 'link-4@link-capture.invalid'],
        ['no user id', '2'],
      ] as const
    ).map(([what, userEmail]) => ({
      says: `\`userEmail\`: ${what} (reading: 400, and nothing is written)`,
      send: update({ userEmail }),
      status: 400,
      body: { error: expect.stringContaining('userEmail') },
      check: async (_answer: unknown, session: ApiSession) => {
        const { status } = await session.send(post('/geteval', { evalid: evals.open }))
        expect(status).toBe(400)
      },
    })),
    {
      says: '`gccPriceGuide`: GCC: return GCC pricing on the response [A §1]',
      send: update({ gccPriceGuide: true }, evals.gcc, gcc),
      status: 200,
      body: { gccPriceGuide: { adcode: expect.stringMatching(/^GC0TOY/), currency: 'AED' } },
      check: ({ body }) =>
        expect(Object.keys(Object(at(body, 'gccPriceGuide'))).sort()).toEqual(guideFields),
    },
    {
      says: '`gccPriceGuide`: GCC only: no GCC pricing for an AU key',
      send: update({ gccPriceGuide: true }),
      status: 200,
      lacks: ['gccPriceGuide'],
    },
    {
      says: '`gccPriceGuide` left out: no GCC pricing',
      send: update({}, evals.gcc, gcc),
      status: 200,
      lacks: ['gccPriceGuide'],
    },
    {
      says: 'response 200: full appraisal after the update',
      send: update({ price: 20_000 }),
      status: 200,
      body: {
        EvalID: evals.open,
        VIN: text,
        CreatedAt: instant,
        EntryDate: text,
        FinalPrice: 20_000,
        UserPrices: [],
        reconditioning_list: [],
        Photos: [{ id: 41 }, { id: 42 }],
        customFields: {},
      },
      check: async ({ body }, session) =>
        expect((await session.send(post('/geteval', { evalid: evals.open }))).body).toEqual([body]),
    },
    {
      says: 'another rooftop of the group may complete it, it stays where it was (reading)',
      send: update({}, evals.open, two),
      status: 200,
      body: { CompletedAt: now, DealerID: 101 },
    },
    {
      says: "timestamps are read after this call's writes",
      send: update({}),
      status: 200,
      body: { CompletedAt: now, UpdatedAt: now },
    },
    {
      says: 'without `userEmail` on the first call it belongs to the user linked to the API key',
      given: [
        post('/entervin', { vin: 'SAMPLEUS000000001' }, us),
        (session) => update({}, session.evalId, us),
      ],
      send: ({ evalId }) => post('/geteval', { evalid: evalId }, us),
      status: 200,
      body: [{ UserName: 'Uma State', UserEmail: 'uma@example.com' }],
    },
    {
      says: 'managers see it either way: assigned to another salesperson, /getevallist names it',
      given: [update({ userEmail: 'bea@example.com' })],
      send: post('/getevallist', {}, two),
      status: 200,
      check: ({ body }) => expect(JSON.stringify(body)).toContain(String(evals.open)),
    },
    {
      says: 'an evaluation that is not there (reading: 400)',
      send: update({}, evals.unknown),
      status: 400,
    },
    {
      says: 'an evaluation of another dealer group (reading: 403)',
      send: update({}, evals.otherGroup),
      status: 403,
    },
    { says: '403 invalid API key', send: update({}, evals.open, wrong), status: 403 },
  ]),
]

/** Name of a configured custom field. */
function firstCustomField(body: unknown): string {
  const names = Object.keys(Object(at(body, 'customFields')))
  expect(names).not.toEqual([])
  return String(names[0])
}
