import { expect } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import type { ApiSession } from './api-session.ts'
import { descriptions } from './entervin.ts'
import { at, instant, listAt } from './patterns.ts'
import { type Answer, post, table } from './row.ts'
import { evals, now, who } from './world.ts'

const path = '/manualcarentry'
const { us, gcc, wrong } = who
const [auVin, usVin, gccVin] = [
  samples.auAmbiguous.vin,
  samples.usAmbiguous.vin,
  samples.gccAmbiguous.vin,
]
const enterAu = post('/entervin', { vin: auVin })
const enterUs = post('/entervin', { vin: usVin }, us)
const enterGcc = post('/entervin', { vin: gccVin }, gcc)

const chosen = (body: unknown, index = 1) => {
  const { code, codeType } = listAt(body, 'descriptionOptions')[index] ?? {}
  return { code, codeType }
}

export const manualCarEntryRows = [
  ...table('A §4 /manualcarentry', [
    {
      says: 'AU: send `vin` + `desc`; 201, shaped like a successful /entervin',
      given: [enterAu],
      send: post(path, { vin: auVin, desc: 'Toyota HiLux SR5 Double Cab' }),
      status: 201,
      body: {
        EvalID: expect.any(Number),
        VIN: auVin,
        Make: 'Toyota',
        Model: 'HiLux',
        Variant: 'SR5 Double Cab',
        Year: 2016,
        UserPrices: [],
        customFields: {},
      },
    },
    {
      says: 'response: EvalID, CreatedAt, CompletedAt, UpdatedAt',
      given: [enterAu],
      send: ({ last }) => post(path, { vin: auVin, desc: descriptions(last.body)[0] }),
      status: 201,
      body: {
        EvalID: expect.any(Number),
        CreatedAt: instant,
        CompletedAt: null,
        UpdatedAt: instant,
      },
    },
    {
      says: 'AU: another `desc` is another vehicle',
      given: [enterAu, ({ last }) => post(path, { vin: auVin, desc: descriptions(last.body)[0] })],
      send: ({ answers }) => post(path, { vin: auVin, desc: descriptions(answers[0]?.body)[1] }),
      status: 201,
      check: ({ body }, { answers }) => {
        const vehicleOf = (one: unknown) =>
          ['Make', 'Model', 'Variant', 'Year'].map((n) => at(one, n))
        expect(vehicleOf(body)).not.toEqual(vehicleOf(answers[1]?.body))
      },
    },
    ...[
      { vin: auVin },
      { vin: auVin, desc: 'No such car' },
      { vin: auVin, desc: 'Mazda CX-5 Akera' },
    ].map((fields) => ({
      says: `AU: a \`desc\` that was not offered is not a vehicle (reading: 400): ${fields.desc}`,
      send: post(path, fields),
      status: 400,
      check: (_answer: unknown, { sandbox }: ApiSession) => expect(sandbox.world.size).toBe(14),
    })),
    {
      says: 'US: send `evalid` + `code` + `codeType`; the EvalID is updated in place',
      given: [enterUs],
      send: ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, us),
      status: 201,
      check: ({ body }, { last }) => expect(at(body, 'EvalID')).toBe(at(last.body, 'EvalID')),
    },
    {
      says: 'GCC: send `evalid` + `code` + `codeType`; the EvalID is updated in place',
      given: [enterGcc],
      send: ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, gcc),
      status: 201,
      body: { VIN: gccVin, Variant: 'VXR 5.7' },
      check: ({ body }, { last }) => expect(at(body, 'EvalID')).toBe(at(last.body, 'EvalID')),
    },
    {
      says: 'US: the chosen style is decoded: the answer asks for no style again',
      given: [enterUs, (session) => session.advance(60)],
      send: ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, us),
      status: 201,
      body: {
        VIN: usVin,
        Model: 'F-150',
        Variant: 'Lariat',
        CreatedAt: now,
        CompletedAt: null,
        UpdatedAt: '2026-03-10T00:01:00.000Z',
      },
      lacks: ['descriptionSelect', 'descriptionOptions', 'error'],
    },
    ...[{ vin: usVin }, {}].map((sent) => ({
      says: `US keys: when \`codeType\` is omitted it is inferred from the cached decode for the VIN: ${sent.vin}`,
      given: [enterUs],
      send: ({ last, evalId }: ApiSession) =>
        post(path, { ...sent, evalid: evalId, code: chosen(last.body).code }, us),
      status: 201,
      body: { Variant: 'Lariat' },
      check: ({ body }: Answer, { last }: ApiSession) =>
        expect(at(body, 'EvalID')).toBe(at(last.body, 'EvalID')),
    })),
    {
      says: 'US keys: `evalid` also omitted: the most recent in-progress one for that VIN',
      given: [enterUs, (session) => session.advance(60), enterUs],
      send: ({ last }) => post(path, { vin: usVin, code: chosen(last.body).code }, us),
      status: 201,
      check: ({ body }, { answers }) =>
        expect(at(body, 'EvalID')).toBe(at(answers[1]?.body, 'EvalID')),
    },
    {
      says: 'US keys: `evalid` also omitted: one with no style chosen',
      given: [
        enterUs,
        (session) => session.advance(60),
        enterUs,
        ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, us),
      ],
      send: ({ answers }) => post(path, { vin: usVin, code: chosen(answers[0]?.body).code }, us),
      status: 201,
      check: ({ body }, { answers }) =>
        expect(at(body, 'EvalID')).toBe(at(answers[0]?.body, 'EvalID')),
    },
    {
      says: 'US keys: `evalid` also omitted: none waits for a style: another one begins (reading)',
      given: [
        enterUs,
        ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, us),
      ],
      send: ({ answers }) => post(path, { vin: usVin, code: chosen(answers[0]?.body).code }, us),
      status: 201,
      check: ({ body }, { last }) => expect(at(body, 'EvalID')).not.toBe(at(last.body, 'EvalID')),
    },
    ...(
      [
        ['an unknown code', ({ codeType }) => ({ code: '999999', codeType })],
        ['no code', ({ codeType }) => ({ codeType })],
        ['a VIN of another vehicle', (one) => ({ ...one, vin: samples.usSingle.vin })],
        ['an evaluation that is not there', (one) => ({ ...one, evalid: evals.unknown })],
        ['an evaluation that is Complete', (one) => ({ ...one, evalid: evals.us })],
      ] as const satisfies readonly [string, (one: ReturnType<typeof chosen>) => object][]
    ).map(([what, fields]) => ({
      says: `US: ${what} (reading: 400)`,
      given: [enterUs],
      send: ({ last, evalId }: ApiSession) =>
        post(path, { evalid: evalId, ...fields(chosen(last.body)) }, us),
      status: 400,
    })),
    {
      says: 'US: `codeType` and everything that it is inferred from omitted (reading: 400)',
      given: [enterUs],
      send: ({ last }) => post(path, { code: chosen(last.body).code }, us),
      status: 400,
      body: { error: expect.stringMatching(/^code/) },
    },
    ...(
      [
        ['GC0TOYLANDC02', 'ADCode', 'ADData'],
        ['GC0TOYLANDC02', undefined, 'ADData'],
        ['12345', 'ADData', '13-character'],
        ['GC0NOSUCHCAR1', 'ADData', 'no style'],
      ] as const
    ).map(([code, codeType, message]) => ({
      says: `GCC: code ${code} with codeType ${codeType}: an error that names ${message}`,
      send: post(path, { code, codeType }, gcc),
      status: 400,
      body: { error: expect.stringContaining(message) },
    })),
    {
      says: 'GCC: `codeType` is `ADData`, never `ADCode`',
      given: [enterGcc],
      send: ({ last, evalId }) =>
        post(path, { evalid: evalId, code: chosen(last.body).code, codeType: 'ADCode' }, gcc),
      status: 400,
    },
    {
      says: 'GCC may start with `code` and `codeType` = `ADData`',
      given: [enterGcc],
      send: ({ last }) => post(path, chosen(last.body), gcc),
      status: 201,
      body: { VIN: null, Variant: 'VXR 5.7', Year: 2022, CompletedAt: null },
      check: ({ body }, { last }) => {
        expect(at(body, 'EvalID')).toBeTypeOf('number')
        expect(at(body, 'EvalID')).not.toBe(at(last.body, 'EvalID'))
      },
    },
    {
      says: 'a start from make/model without a VIN is possible (reading: AU, by the description)',
      given: [enterAu],
      send: ({ last }) => post(path, { desc: descriptions(last.body)[0] }),
      status: 201,
      body: { EvalID: expect.any(Number), CompletedAt: null },
    },
    { says: 'nothing to start from (reading: 400)', send: post(path, {}), status: 400 },
    {
      says: '`evalid`: integer',
      send: post(path, { evalid: 'one', code: 'x', codeType: 'ADData' }, gcc),
      status: 400,
    },
    {
      says: 'US: a `codeType` that is not a provider value of the US (reading: 400)',
      given: [enterUs],
      send: ({ last, evalId }) =>
        post(path, { evalid: evalId, code: chosen(last.body).code, codeType: 'ADData' }, us),
      status: 400,
      body: { error: expect.stringMatching(/^codeType/) },
    },
    {
      says: 'US: `codeType` is one of two provider-specific values',
      given: [enterUs],
      send: ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, us),
      status: 201,
      check: (_answer, { last }) => {
        const types = new Set(listAt(last.body, 'descriptionOptions').map((one) => one['codeType']))
        expect(types.size).toBeLessThanOrEqual(2)
        expect(types).not.toContain('ADData')
      },
    },
    {
      says: 'an evaluation of another dealer group (reading: 403)',
      given: [enterUs],
      send: ({ last }) => post(path, { evalid: evals.done, ...chosen(last.body) }, us),
      status: 403,
    },
    {
      says: '403 invalid API key',
      send: post(path, { vin: auVin, desc: 'x' }, wrong),
      status: 403,
    },
  ]),
  ...table('A §3 in progress', [
    {
      says: '/manualcarentry, chosen style sent: still in progress, not readable',
      given: [
        enterUs,
        ({ last, evalId }) => post(path, { evalid: evalId, ...chosen(last.body) }, us),
      ],
      send: ({ evalId }) => post('/geteval', { evalid: evalId }, us),
      status: 400,
    },
    {
      says: '/manualcarentry, AU: EvalID created, in progress',
      given: [enterAu, ({ last }) => post(path, { vin: auVin, desc: descriptions(last.body)[0] })],
      send: ({ evalId }) => post('/imagelist', { evalid: evalId }),
      status: 200,
      body: { Photos: [] },
      check: (_answer, { sandbox }) => expect(sandbox.world.size).toBe(15),
    },
  ]),
]
