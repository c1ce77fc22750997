import { expect } from 'vitest'
import { listAt } from './patterns.ts'
import { call, post, type Send, table } from './row.ts'
import { evals, who } from './world.ts'

/** Every operation of the document with a request that fits. */
const operations: readonly Send[] = [
  post('/entervin', { vin: 'SAMPLEAU000000001' }),
  post('/manualcarentry', { vin: 'SAMPLEAU000000002', desc: 'x' }),
  post('/dcupdateeval', { evalid: evals.done, km: 1 }),
  { method: 'POST', path: '/imageupload', form: { evalid: String(evals.done) } },
  post('/imagelist', { evalid: evals.done }),
  post('/imageorder', { evalid: evals.done, ids: [11] }),
  post('/imagehero', { evalid: evals.done, imgid: 11 }),
  post('/geteval', { evalid: evals.done }),
  post('/getevallist', {}),
  call('GET', `/pricingAi/payload/${evals.done}`),
  post('/getuserlist', {}),
  post('/ppsrsearch', { evalid: evals.done }),
  post('/carhistory', { evalid: evals.done }),
  post('/getpastppsrsearch', { evalid: evals.done }),
  post('/getpastcarhistory', { evalid: evals.done }),
  post('/ppsrwatch', { evalid: evals.done }),
  call('GET', '/partner/webhooks'),
  post('/partner/webhooks', {
    type: 'eval',
    trigger_event: 'ON_COMPLETE',
    webhook: 'https://example.com/hook',
  }),
  call('PUT', '/partner/webhooks/1', {}),
  call('DELETE', '/partner/webhooks/1'),
]
const named = ({ method, path }: Send) => `${method} ${path}`
const ids = (body: unknown) => listAt(body).map(({ EvalID }) => EvalID)
const list = (key: string | null, rooftop: string | null) =>
  post('/getevallist', {}, { key, rooftop })

export const keyRows = [
  ...table('A §5.1 every operation requires an API key', [
    ...operations.map((send) => ({
      says: `an invalid key yields 403: ${named(send)}`,
      send: { ...send, who: who.wrong },
      status: 403,
    })),
    ...operations.map((send) => ({
      says: `no key yields 403 (reading): ${named(send)}`,
      send: { ...send, who: { key: null, rooftop: 'au-one' } },
      status: 403,
    })),
  ]),
  ...table('A §5.2 dedicated key', [
    { says: 'an empty key yields 403 (reading)', send: list('', 'au-one'), status: 403 },
    {
      says: 'every call runs as that rooftop: X-Dealer-Id is not sent',
      send: list('us-key', null),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.us]),
    },
    {
      says: 'X-Dealer-Id is ignored on such a key: another rooftop',
      send: list('us-key', 'au-one'),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.us]),
    },
    {
      says: 'X-Dealer-Id is ignored on such a key: an unknown one',
      send: list('us-key', 'nowhere'),
      status: 200,
    },
  ]),
  ...table('A §5.3 partner key', [
    {
      says: 'one key covers several rooftops: the first',
      send: list('au-key', 'au-one'),
      status: 200,
      check: ({ body }) => expect(ids(body)).toContain(evals.done),
    },
    {
      says: 'one key covers several rooftops: one of another group',
      send: list('au-key', 'au-three'),
      status: 200,
      check: ({ body }) => expect(ids(body)).toEqual([evals.otherGroup]),
    },
    ...operations.map((send) => ({
      says: `X-Dealer-Id is required when the key is not bound to a single dealer: ${named(send)}`,
      send: { ...send, who: { key: 'au-key', rooftop: null } },
      status: 403,
    })),
    {
      says: 'the value is the rooftop `uid`, not the numeric DealerID',
      send: list('au-key', '101'),
      status: 403,
    },
    {
      says: 'the key must be authorised for that rooftop',
      send: list('au-key', 'au-foreign'),
      status: 403,
    },
    {
      says: 'the key must be authorised for that rooftop: of another region',
      send: list('au-key', 'us-one'),
      status: 403,
    },
    { says: 'a rooftop that does not exist', send: list('au-key', 'nowhere'), status: 403 },
  ]),
  ...table('A §5.4 regional behaviour follows the key', [
    ...['/ppsrsearch', '/carhistory', '/getpastppsrsearch', '/getpastcarhistory', '/ppsrwatch'].map(
      (path) => ({
        says: `AU-only endpoints answer 403 for a non-AU key: ${path}`,
        send: post(path, { evalid: evals.us }, who.us),
        status: 403,
      }),
    ),
    {
      says: '403 for every call of a non-AU key: before the evalid is checked',
      send: post('/ppsrwatch', {}, who.gcc),
      status: 403,
    },
  ]),
  ...table('A §9 versioning', [
    {
      says: 'the base address carries the path prefix /v1',
      send: post('/getuserlist', {}),
      status: 200,
      check: (_answer, { sandbox }) => expect(new URL(sandbox.baseUrl).pathname).toBe('/v1'),
    },
    {
      says: 'without the prefix nothing answers',
      given: [
        async (session) => {
          const url = new URL('/getuserlist', session.sandbox.baseUrl)
          const headers = { authorization: 'au-key', 'x-dealer-id': 'au-one' }
          expect((await fetch(url, { method: 'POST', headers })).status).toBe(404)
        },
      ],
      send: post('/getuserlist', {}),
      status: 200,
    },
    {
      says: 'legacy: dedicated single-dealer keys are kept',
      send: post('/geteval', { evalid: evals.us }, who.us),
      status: 200,
    },
    {
      says: 'legacy: EntryDate without a zone designator',
      send: post('/geteval', { evalid: evals.done }),
      status: 200,
      body: [{ EntryDate: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) }],
    },
    ...[1, 0].map((service) => ({
      says: `legacy: \`service\` value ${service} is taken`,
      send: post('/dcupdateeval', { evalid: evals.done, km: 1, service }),
      status: 200,
    })),
    {
      says: '/retrieveevals is an in-app endpoint, separate from these: not served here (reading)',
      send: post('/retrieveevals', {}),
      status: 404,
    },
  ]),
]
