import { samples } from '#src/sandbox/samples.ts'
import { carHistory, pastCarHistory, pastPpsr, ppsr, watch } from './checks.ts'
import { failure, files } from './patterns.ts'
import { call, post, table, upload } from './row.ts'
import { evals, who } from './world.ts'

const { us, wrong, three, gcc } = who
const { jpeg, png, empty, noImage } = files
const done = { evalid: String(evals.done) }
const realVin = '1HGCM82633A004352'
const pricing = (evalid: unknown, by = who.one) => ({
  ...call('GET', `/pricingAi/payload/${evalid}`),
  who: by,
})

/** The error table, line by line; §4 has the same statements. */
export const errorRows = table('A §7 errors', [
  { says: '/entervin 403 invalid API key', send: post('/entervin', {}, wrong), status: 403 },
  {
    says: '/entervin 429 sandbox real-lookup quota reached',
    limits: { lookupsPerDay: 0 },
    send: post('/entervin', { vin: realVin }, us),
    status: 429,
  },
  {
    says: '/pricingAi/payload/{evalid} 429 sandbox real-lookup quota reached',
    limits: { lookupsPerDay: 0 },
    send: pricing(evals.done),
    status: 429,
  },
  {
    says: '/entervin 201 or 200 undecodable VIN: body has `error`, no EvalID',
    send: post('/entervin', { vin: samples.undecodable.vin }, us),
    status: 201,
    body: failure,
    lacks: ['EvalID'],
  },
  { says: '/imageupload 400 no evalid', send: upload({}, [jpeg]), status: 400, body: failure },
  {
    says: '/imageupload 400 evaluation not writable by the key (reported as 400, not 403)',
    send: upload({ evalid: String(evals.otherGroup) }, [jpeg]),
    status: 400,
    body: failure,
  },
  {
    says: '/imageupload 400 unreadable image',
    send: upload(done, [noImage]),
    status: 400,
    body: failure,
  },
  {
    says: '/imageupload 400 zero-byte image',
    send: upload(done, [empty]),
    status: 400,
    body: failure,
  },
  {
    says: '/imageupload 400 `order` with several files',
    send: upload({ ...done, order: '1' }, [jpeg, png]),
    status: 400,
    body: failure,
  },
  {
    says: '/imageupload 400 `hero` with several files',
    send: upload({ ...done, hero: '1' }, [jpeg, png]),
    status: 400,
    body: failure,
  },
  {
    says: '/imageupload 403 key not authorised for rooftop',
    send: upload(done, [jpeg], { key: 'au-key', rooftop: 'us-one' }),
    status: 403,
    body: failure,
  },
  {
    says: '/imageupload 500 image could not be stored',
    limits: { imageBytes: 10 },
    send: upload(done, [jpeg]),
    status: 500,
    body: failure,
  },
  ...(
    [
      ['/imagelist', {}],
      ['/imageorder', { ids: [11] }],
      ['/imagehero', { imgid: 11 }],
    ] as const
  ).flatMap(([path, fields]) => [
    {
      says: `${path} 403 no access`,
      send: post(path, { evalid: evals.done, ...fields }, three),
      status: 403,
    },
    {
      says: `${path} 403 evaluation does not exist`,
      send: post(path, { evalid: evals.unknown, ...fields }),
      status: 403,
    },
    { says: `${path} 403 missing evalid (not 400)`, send: post(path, fields), status: 403 },
    {
      says: `${path} 403 non-positive evalid (not 400)`,
      send: post(path, { evalid: 0, ...fields }),
      status: 403,
    },
  ]),
  ...[undefined, [], 'front'].map((ids) => ({
    says: `/imageorder 400 \`ids\` missing, empty or non-numeric: ${JSON.stringify(ids)}`,
    send: post('/imageorder', { evalid: evals.done, ids }),
    status: 400,
  })),
  {
    says: '/imageorder 404 `hero` not on this evaluation',
    send: post('/imageorder', { evalid: evals.done, ids: [11], hero: 31 }),
    status: 404,
    body: failure,
  },
  {
    says: '/imagehero 404 `imgid` not on this evaluation',
    send: post('/imagehero', { evalid: evals.done, imgid: 31 }),
    status: 404,
    body: failure,
  },
  {
    says: '/geteval 400 evaluation not found',
    send: post('/geteval', { evalid: evals.unknown }),
    status: 400,
  },
  {
    says: '/geteval 400 user required and omitted',
    send: post('/geteval', { evalid: evals.gcc }, gcc),
    status: 400,
  },
  {
    says: '/geteval 403 forbidden',
    send: post('/geteval', { evalid: evals.done, user: 'otto@example.com' }),
    status: 403,
  },
  {
    says: '/geteval 403 invalid key',
    send: post('/geteval', { evalid: evals.done }, wrong),
    status: 403,
  },
  {
    says: '/pricingAi/payload/{evalid} 400 evaluation not found',
    send: pricing(evals.unknown),
    status: 400,
  },
  {
    says: '/pricingAi/payload/{evalid} 403 invalid key',
    send: pricing(evals.done, wrong),
    status: 403,
  },
  { says: '/getuserlist 403 invalid key', send: post('/getuserlist', {}, wrong), status: 403 },
  { says: '/ppsrsearch 400 evalid missing', send: post('/ppsrsearch', {}), status: 400 },
  { says: '/ppsrsearch 400 eval has no VIN', send: ppsr(evals.withoutVin), status: 400 },
  { says: '/ppsrsearch 400 search failed', send: ppsr(evals.searchFails), status: 400 },
  {
    says: '/ppsrsearch 400 daily per-vehicle limit',
    limits: { ppsrPerVehicle: 0 },
    send: ppsr(),
    status: 400,
  },
  { says: '/ppsrsearch 403 not an AU account', send: ppsr(evals.us, us), status: 403 },
  { says: '/ppsrsearch 403 invalid key', send: ppsr(evals.done, wrong), status: 403 },
  { says: '/ppsrsearch 404 evaluation not found', send: ppsr(evals.unknown), status: 404 },
  {
    says: '/ppsrsearch 429 daily throttle',
    limits: { ppsrPerDay: 0 },
    send: ppsr(),
    status: 429,
  },
  { says: '/carhistory 400 evalid missing', send: post('/carhistory', {}), status: 400 },
  { says: '/carhistory 400 eval has no VIN', send: carHistory(evals.withoutVin), status: 400 },
  {
    says: '/carhistory 403 not enabled for the dealership',
    send: carHistory(evals.otherGroup, three),
    status: 403,
  },
  { says: '/carhistory 403 not AU', send: carHistory(evals.us, us), status: 403 },
  { says: '/carhistory 403 invalid key', send: carHistory(evals.done, wrong), status: 403 },
  { says: '/carhistory 404 evaluation not found', send: carHistory(evals.unknown), status: 404 },
  {
    says: '/carhistory 429 daily throttle',
    limits: { carHistoryPerDay: 0 },
    send: carHistory(),
    status: 429,
  },
  {
    says: '/carhistory 500 failed to get vehicle history',
    send: carHistory(evals.historyFails),
    status: 500,
  },
  ...(
    [
      ['/getpastppsrsearch', pastPpsr],
      ['/getpastcarhistory', pastCarHistory],
      ['/ppsrwatch', watch],
    ] as const
  ).flatMap(([path, ask]) => [
    { says: `${path} 400 evalid missing`, send: post(path, {}), status: 400 },
    { says: `${path} 400 eval has no VIN`, send: ask(evals.withoutVin), status: 400 },
    { says: `${path} 403 not AU`, send: ask(evals.gcc, gcc), status: 403 },
    { says: `${path} 404 evaluation not found`, send: ask(evals.unknown), status: 404 },
  ]),
  {
    says: '/partner/webhooks/{id} PUT 404 webhook not found',
    send: call('PUT', '/partner/webhooks/77', {}),
    status: 404,
  },
  {
    says: '/partner/webhooks/{id} DELETE 404 webhook not found',
    send: call('DELETE', '/partner/webhooks/77'),
    status: 404,
  },
])
