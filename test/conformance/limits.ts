import { samples } from '#src/sandbox/samples.ts'
import { carHistory, ppsr } from './checks.ts'
import { files } from './patterns.ts'
import { call, post, table, upload } from './row.ts'
import { evals, who } from './world.ts'

const { us, gcc } = who
const done = { evalid: String(evals.done) }
const update = (fields: object) => post('/dcupdateeval', { evalid: evals.done, km: 1, ...fields })
const realVin = '1HGCM82633A004352'
const adcode = (code: string) => post('/manualcarentry', { code, codeType: 'ADData' }, gcc)

/** The table of limits, line by line; the watch period, the links and the reasoning are with their endpoints. */
export const limitRows = table('A §8 limits', [
  {
    says: 'one file per request when `order` is used',
    send: upload({ ...done, order: '1' }, [files.jpeg, files.png]),
    status: 400,
  },
  {
    says: 'one file per request when `hero` is used',
    send: upload({ ...done, hero: '1' }, [files.jpeg, files.png]),
    status: 400,
  },
  {
    says: 'several files only when neither is set',
    send: upload(done, [files.jpeg, files.png]),
    status: 201,
  },
  { says: 'condition score: 0', send: update({ condition: 0 }), status: 200 },
  { says: 'condition score: 10', send: update({ condition: 10 }), status: 200 },
  { says: 'condition score: not 11', send: update({ condition: 11 }), status: 400 },
  { says: 'condition score: integer', send: update({ condition: 7.5 }), status: 400 },
  {
    says: 'VIN length: 17 characters: 17',
    send: post('/entervin', { vin: samples.usSingle.vin }, us),
    status: 201,
  },
  {
    says: 'VIN length: 17 characters: not 18',
    send: post('/entervin', { vin: `${samples.usSingle.vin}0` }, us),
    status: 400,
  },
  {
    says: '`state`: 2 uppercase letters, /geteval',
    send: post('/geteval', { reg: 'ABC123', state: 'WA' }),
    status: 400,
  },
  {
    says: '`state`: 3 uppercase letters, /geteval',
    send: post('/geteval', { reg: 'ABC123', state: 'NSW' }),
    status: 200,
    body: [{ EvalID: evals.done }],
  },
  {
    says: '`state`: not lower case, /geteval',
    send: post('/geteval', { reg: 'ABC123', state: 'nsw' }),
    status: 400,
  },
  {
    says: '`state`: not four letters, /entervin',
    send: post('/entervin', { vin: 'ABC123', state: 'NSWA' }),
    status: 400,
  },
  { says: 'ADCode length: not 12 characters', send: adcode('AU0TOYHILUX0'), status: 400 },
  { says: 'ADCode length: not 14 characters', send: adcode('AU0TOYHILUX001'), status: 400 },
  {
    says: 'PPSR search: synchronous: the certificate is in the answer',
    send: ppsr(),
    status: 200,
  },
  {
    says: 'PPSR throttle: daily',
    limits: { ppsrPerDay: 0 },
    send: ppsr(),
    status: 429,
  },
  {
    says: 'Car History throttle: daily',
    limits: { carHistoryPerDay: 0 },
    send: carHistory(),
    status: 429,
  },
  {
    says: 'Car History throttle: tomorrow there is another',
    limits: { carHistoryPerDay: 1 },
    given: [carHistory(), (session) => session.advance(86_400)],
    send: carHistory(),
    status: 200,
  },
  {
    says: 'Car History concurrency: one running report per eval: another eval may run meanwhile',
    limits: { carHistoryMs: 300 },
    given: [
      async (session) => {
        void session.send(carHistory()).catch(() => undefined)
        while (session.sandbox.requests.inFlightMax() < 1)
          await new Promise((resolve) => setImmediate(resolve))
      },
    ],
    send: carHistory(evals.open),
    status: 200,
  },
  {
    says: 'sandbox real-lookup quota: /entervin',
    limits: { lookupsPerDay: 0 },
    send: post('/entervin', { vin: realVin }),
    status: 429,
  },
  {
    says: 'sandbox real-lookup quota: pricing AI',
    limits: { lookupsPerDay: 0 },
    send: call('GET', `/pricingAi/payload/${evals.done}`),
    status: 429,
  },
])
