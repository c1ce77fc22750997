import { expect } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import { at, failure, instant, listAt, text } from './patterns.ts'
import { expecting, post, table } from './row.ts'
import { who } from './world.ts'

const enter = '/entervin'
const { one, us, gcc, wrong } = who
/** VINs that no sample is: the second differs from the first in the check digit alone. */
const realVin = '1HGCM82633A004352'
const wrongCheckDigit = '1HGCM82603A004352'

export const enterVinRows = [
  ...table('A §4 /entervin', [
    { says: '`vin`: required', send: post(enter, {}), status: 400 },
    {
      says: '`vin`: required, with a `state` too',
      send: post(enter, { state: 'NSW' }),
      status: 400,
    },
    { says: '`vin`: an empty one is none', send: post(enter, { vin: '' }), status: 400 },
    { says: '`vin`: string', send: post(enter, { vin: 12_345_678 }), status: 400 },
    {
      says: '`vin`: 17-character VIN: without a state, 16 characters are none',
      send: post(enter, { vin: 'SAMPLEAU00000001' }),
      status: 400,
    },
    {
      says: '`vin`: "or a plate, in which case `state` is required": AU',
      send: post(enter, { vin: 'ABC123' }),
      status: 400,
    },
    {
      says: 'a plate and its state begin an evaluation: AU, AU state abbreviation [A §1]',
      send: post(enter, { vin: 'ABC123', state: 'NSW' }),
      status: 201,
      body: { EvalID: expect.any(Number), CompletedAt: null },
    },
    {
      says: 'plate lookups take a 2-letter state: US [A §1]',
      send: post(enter, { vin: 'ABC1234', state: 'TX' }, us),
      status: 201,
      lacks: ['error'],
    },
    ...['nsw', 'N SW', 'N.S', 'N', 'NEWS', '2A', ''].map((state) => ({
      says: `\`state\`: 2-3 uppercase letters, no spaces or periods: not '${state}'`,
      send: post(enter, { vin: 'ABC123', state }),
      status: 400,
      body: { error: expect.stringContaining('state') },
    })),
    {
      says: '`vin`: of 17 characters is a VIN, with a `state` too (reading)',
      send: post(enter, { vin: samples.auSingle.vin, state: 'NSW' }),
      status: 200,
      body: { VIN: samples.auSingle.vin },
    },
    {
      says: 'a decoded evaluation: with the fields of an Evaluation [A §2]',
      send: post(enter, { vin: samples.auSingle.vin.toLowerCase() }),
      status: 200,
      body: {
        VIN: samples.auSingle.vin,
        EntryDate: '2026-03-10 00:00:00',
        UpdatedAt: instant,
        FinalPrice: null,
        UserPrices: [],
        UserName: 'Alex Example',
        UserEmail: 'alex@example.com',
        Reconditioning: 0,
        reconditioning_list: [],
        CarPics: [],
        Photos: [],
        Make: 'Toyota',
        Model: 'HiLux',
        DealerID: 101,
      },
      // The fields that the group has configured, without values.
      check: ({ body }) =>
        expect(at(body, 'customFields')).toEqual({
          Lane: { type: 'select', options: ['A', 'B'], value: null },
          Remark: { type: 'text', options: null, value: null },
        }),
    },
    {
      says: 'response 201, a decoded evaluation containing EvalID: US',
      send: post(enter, { vin: samples.usSingle.vin }, us),
      status: 201,
      body: { EvalID: expect.any(Number), VIN: samples.usSingle.vin },
      lacks: ['error', 'descriptionSelect'],
    },
    {
      says: 'response 201, a decoded evaluation containing EvalID: GCC',
      send: post(enter, { vin: samples.gccSingle.vin }, gcc),
      status: 201,
      body: {
        EvalID: expect.any(Number),
        VIN: samples.gccSingle.vin,
        UserName: null,
        UserEmail: null,
      },
      lacks: ['error', 'descriptionSelect'],
    },
    {
      says: 'AU sample VINs: 200',
      send: post(enter, { vin: samples.auSingle.vin }),
      status: 200,
      body: { EvalID: expect.any(Number), VIN: samples.auSingle.vin },
    },
    {
      says: 'AU ambiguity: an array whose item has `options` / `VechielDescriptions`',
      send: post(enter, { vin: samples.auAmbiguous.vin }),
      status: 200,
      body: [{ VIN: samples.auAmbiguous.vin }],
      check: ({ body }) => {
        expect(descriptions(body).length).toBeGreaterThan(1)
        expect(descriptions(body)).toContain('Toyota HiLux SR5 Double Cab')
        for (const one of descriptions(body)) expect(one).toMatch(/\S/)
      },
    },
    {
      says: 'AU ambiguity: the item has no EvalID',
      send: post(enter, { vin: samples.auAmbiguous.vin }),
      status: 200,
      check: ({ body }) => {
        for (const item of listAt(body)) expect(item).not.toHaveProperty('EvalID')
      },
    },
    {
      says: 'AU ambiguity: the chosen `Description` goes to /manualcarentry as `desc`',
      given: [post(enter, { vin: samples.auAmbiguous.vin })],
      send: ({ last }) =>
        post('/manualcarentry', { vin: samples.auAmbiguous.vin, desc: descriptions(last.body)[1] }),
      status: 201,
      body: { EvalID: expect.any(Number), VIN: samples.auAmbiguous.vin },
    },
    ...(
      [
        ['US', us, samples.usAmbiguous.vin],
        ['GCC', gcc, samples.gccAmbiguous.vin],
      ] as const
    ).flatMap(([region, by, vin]) => [
      {
        says: `${region} ambiguity: object with VIN, EvalID (always set), descriptionSelect true`,
        send: post(enter, { vin }, by),
        status: 201,
        body: { VIN: vin, EvalID: expect.any(Number), descriptionSelect: true },
      },
      {
        says: `${region} ambiguity: items have code, codeType, fullDescription, highlight`,
        send: post(enter, { vin }, by),
        status: 201,
        check: ({ body }: { body: unknown }) => {
          const options = listAt(body, 'descriptionOptions')
          expect(options.length).toBeGreaterThan(1)
          expect(new Set(options.map(({ code }) => code)).size).toBe(options.length)
          const codeType = expect.stringMatching(region === 'US' ? /^Provider/ : /^ADData$/)
          const fullDescription = expect.stringMatching(/^20\d\d /)
          for (const option of options)
            expect(option).toMatchObject({ code: text, codeType, fullDescription, highlight: text })
        },
      },
    ]),
    {
      says: 'detect with descriptionSelect === true: a single vehicle is not marked so',
      send: post(enter, { vin: samples.usSingle.vin }, us),
      status: 201,
      lacks: ['descriptionSelect', 'descriptionOptions'],
    },
    ...(
      [
        ['AU (a sample VIN: 200)', one, 200],
        ['US', us, 201],
        ['GCC', gcc, 201],
      ] as const
    ).map(([region, by, status]) => ({
      says: `undecodable VIN: an \`error\` string, no EvalID, still a 2xx: ${region}`,
      send: post(enter, { vin: samples.undecodable.vin }, by),
      status,
      body: failure,
      lacks: ['EvalID'],
    })),
    ...(
      [
        ['a VIN of letters that no VIN has', one, { vin: 'IIIIIIIIIIIIIIIII' }],
        ['a VIN of another region', gcc, { vin: samples.auSingle.vin }],
        ['a plate of signs', one, { vin: '***', state: 'NSW' }],
      ] as const
    ).map(([what, by, fields]) => ({
      says: `undecodable VIN: ${what} (reading)`,
      send: post(enter, fields, by),
      status: 201,
      body: failure,
      lacks: ['EvalID'],
    })),
    ...[realVin, wrongCheckDigit].map((vin) => ({
      says: `the VIN check digit is not validated: ${vin}`,
      send: post(enter, { vin }, us),
      status: 201,
      body: { EvalID: expect.any(Number) },
      lacks: ['error'],
    })),
    { says: '403 invalid API key', send: post(enter, { vin: realVin }, wrong), status: 403 },
    {
      says: '429 sandbox real-lookup quota reached',
      limits: { lookupsPerDay: 1 },
      given: [post(enter, { vin: realVin }, us)],
      send: post(enter, { vin: realVin }, us),
      status: 429,
    },
    {
      says: '429 is about real look-ups: one that decodes nothing counts (reading)',
      limits: { lookupsPerDay: 1 },
      given: [post(enter, { vin: 'IIIIIIIIIIIIIIIII' }, us)],
      send: post(enter, { vin: realVin }, us),
      status: 429,
    },
    {
      says: '429 is about the key: another one goes on (reading)',
      limits: { lookupsPerDay: 1 },
      given: [post(enter, { vin: realVin }, us)],
      send: post(enter, { vin: realVin }),
      status: 201,
    },
    {
      says: '429 is about real look-ups: sample VINs go on (reading)',
      limits: { lookupsPerDay: 0 },
      send: post(enter, { vin: samples.usSingle.vin }, us),
      status: 201,
    },
  ]),
  ...table('A §3 (none) → in progress', [
    ...(
      [
        ['AU single vehicle', one, samples.auSingle.vin, 200],
        ['US single vehicle', us, samples.usSingle.vin, 201],
        ['GCC single vehicle', gcc, samples.gccSingle.vin, 201],
      ] as const
    ).map(([what, by, vin, status]) => ({
      says: `/entervin, ${what}: EvalID returned, CompletedAt null`,
      send: post(enter, { vin }, by),
      status,
      body: { EvalID: expect.any(Number), CompletedAt: null, CreatedAt: instant },
    })),
    {
      says: '/entervin: not visible in apps: /geteval does not read it',
      given: [post(enter, { vin: samples.auSingle.vin })],
      send: ({ evalId }) => post('/geteval', { evalid: evalId }),
      status: 400,
    },
    {
      says: '/entervin: not visible in apps: /getevallist does not name it',
      given: [post(enter, { vin: samples.auSingle.vin })],
      send: post('/getevallist', {}),
      status: 200,
      check: ({ body }, { evalId }) => {
        expect(evalId).toBeGreaterThan(0)
        expect(JSON.stringify(body)).not.toContain(String(evalId))
      },
    },
    {
      says: '/entervin, US also when ambiguous: the evaluation is there, in progress',
      given: [post(enter, { vin: samples.usAmbiguous.vin }, us)],
      send: ({ evalId }) => post('/imagelist', { evalid: evalId }, us),
      status: 200,
      body: { Photos: [] },
    },
    {
      says: '/entervin, AU VIN ambiguous: nothing created',
      given: [
        (session) => {
          expect(session.sandbox.world.size).toBe(14)
        },
      ],
      send: post(enter, { vin: samples.auAmbiguous.vin }),
      status: 200,
      check: (_answer, { sandbox }) => expect(sandbox.world.size).toBe(14),
    },
    {
      says: 'undecodable: no EvalID, nothing created',
      send: post(enter, { vin: samples.undecodable.vin }, us),
      status: 201,
      check: (_answer, { sandbox }) => expect(sandbox.world.size).toBe(14),
    },
  ]),
  ...table('A §1 regions', [
    {
      says: 'behaviour follows the key: AU answers an ambiguous VIN with an array',
      send: post(enter, { vin: samples.auAmbiguous.vin }, one),
      status: 200,
      check: ({ body }) => expect(body).toBeInstanceOf(Array),
    },
    {
      says: 'US: an ambiguous VIN returns an object, and an EvalID is already created',
      send: post(enter, { vin: samples.usAmbiguous.vin }, us),
      status: 201,
      body: { EvalID: expect.any(Number), descriptionSelect: true },
    },
    {
      says: 'GCC: `codeType` is `ADData` and `code` is the 13-character ADCode',
      send: post(enter, { vin: samples.gccAmbiguous.vin }, gcc),
      status: 201,
      check: ({ body }) => {
        for (const option of listAt(body, 'descriptionOptions'))
          expect(option).toMatchObject({
            codeType: 'ADData',
            code: expect.stringMatching(/^.{13}$/),
          })
      },
    },
    {
      says: 'US: the sandbox answers 429 when the real-lookup quota is reached',
      limits: { lookupsPerDay: 0 },
      send: post(enter, { vin: realVin }, us),
      status: 429,
    },
    {
      says: 'the quota is per day: it is available again tomorrow (reading)',
      limits: { lookupsPerDay: 1 },
      given: [
        post(enter, { vin: realVin }, us),
        expecting(429, post(enter, { vin: realVin }, us)),
        (session) => session.advance(86_400),
      ],
      send: post(enter, { vin: realVin }, us),
      status: 201,
    },
  ]),
]

/** The `Description` of every option of an ambiguous AU VIN. */
export function descriptions(body: unknown): unknown[] {
  const [item] = listAt(body)
  const options = listAt(
    item,
    at(item, 'options') === undefined ? 'VechielDescriptions' : 'options',
  )
  return options.map((option) => at(option, 'Description'))
}
