import { expect } from 'vitest'
import { at, listAt, text } from './patterns.ts'
import { post, type Send, table } from './row.ts'
import { evals, now, who } from './world.ts'

const { two, three, us, gcc, wrong } = who
export const day = 86_400
const ask =
  (path: string) =>
  (evalid: unknown = evals.done, by = who.one): Send =>
    post(path, { evalid }, by)
export const ppsr = ask('/ppsrsearch')
export const carHistory = ask('/carhistory')
export const pastPpsr = ask('/getpastppsrsearch')
export const pastCarHistory = ask('/getpastcarhistory')
export const watch = ask('/ppsrwatch')

const paths = [
  '/ppsrsearch',
  '/carhistory',
  '/getpastppsrsearch',
  '/getpastcarhistory',
  '/ppsrwatch',
]

/** What every check turns down alike [A §7]. */
const refusals = (path: string) => [
  { says: '400 evalid missing', send: post(path, {}), status: 400 },
  { says: '400 `evalid`: integer', send: ask(path)(String(evals.done)), status: 400 },
  { says: '400 eval has no VIN', send: ask(path)(evals.withoutVin), status: 400 },
  {
    says: '400 a VIN that has not 17 characters is none to check [A §1]',
    send: ask(path)(evals.shortVin),
    status: 400,
  },
  { says: '403 not an AU account: US', send: ask(path)(evals.us, us), status: 403 },
  { says: '403 not an AU account: GCC', send: ask(path)(evals.gcc, gcc), status: 403 },
  { says: '403 invalid key', send: ask(path)(evals.done, wrong), status: 403 },
  { says: '404 evaluation not found', send: ask(path)(evals.unknown), status: 404 },
  {
    says: '404 evaluation not found: of another dealer group',
    send: ask(path)(evals.otherGroup),
    status: 404,
  },
]

export const checkRows = [
  ...paths.flatMap((path) => table(`A §4 ${path}`, refusals(path))),
  ...table('A §1 AU vehicle checks', [
    ...paths.map((path) => ({
      says: `${path} works on any evaluation with a 17-character VIN; it need not be Complete`,
      send: ask(path)(evals.open),
      status: 200,
    })),
    {
      says: 'the body is { evalid }, no VIN in the request: a VIN alone is not enough',
      send: post('/ppsrsearch', { vin: 'JTMDFREV90D123456' }),
      status: 400,
    },
  ]),
  ...table('A §4 /ppsrsearch', [
    {
      says: "runs a PPSR search on the eval's VIN; synchronous: 200 PpsrCertificate",
      send: ppsr(),
      status: 200,
      check: ({ body }) =>
        expect(body).toEqual({
          ID: expect.any(Number),
          CreatedAt: now,
          PdfUrl: expect.stringContaining('/pdf/ppsr/'),
          CertificateNumber: expect.stringMatching(/^\d{10}$/),
          SecurityInterests: expect.any(Number),
          WriteOffs: expect.any(Number),
          Stolen: expect.any(Number),
        }),
    },
    {
      says: 'attaches the certificate: /getpastppsrsearch has it',
      given: [ppsr()],
      send: pastPpsr(),
      status: 200,
      body: [{ WatchStatus: text }],
    },
    { says: '400 search failed', send: ppsr(evals.searchFails), status: 400 },
    {
      says: '400 daily per-vehicle limit: of three at the same time the one that is too many',
      limits: { ppsrPerVehicle: 2 },
      given: [
        async (session) => {
          const all = [ppsr(), ppsr(evals.sameCar, two), ppsr()].map((one) => session.send(one))
          const statuses = (await Promise.all(all)).map(({ status }) => status)
          expect(statuses.toSorted()).toEqual([200, 200, 400])
        },
      ],
      send: ppsr(),
      status: 400,
      body: { error: expect.stringContaining('limit of this vehicle') },
    },
    {
      says: '400 daily per-vehicle limit: another dealer group has its own (reading)',
      limits: { ppsrPerVehicle: 1 },
      given: [ppsr()],
      send: ppsr(evals.otherGroup, three),
      status: 200,
    },
    {
      says: '400 daily per-vehicle limit: of the vehicle, by whichever evaluation of the group',
      limits: { ppsrPerVehicle: 1 },
      given: [ppsr()],
      send: ppsr(evals.sameCar, two),
      status: 400,
    },
    {
      says: '400 daily per-vehicle limit: another vehicle may be searched',
      limits: { ppsrPerVehicle: 1 },
      given: [ppsr()],
      send: ppsr(evals.open),
      status: 200,
    },
    {
      says: '429 daily throttle',
      limits: { ppsrPerDay: 1 },
      given: [ppsr()],
      send: ppsr(evals.open),
      status: 429,
      body: { error: expect.stringContaining('Daily throttle') },
    },
    {
      says: '429 daily throttle: of the rooftop: another one is not affected (reading)',
      limits: { ppsrPerDay: 1 },
      given: [ppsr()],
      send: ppsr(evals.open, two),
      status: 200,
    },
    {
      says: '429 daily throttle: a search that failed does not count (reading)',
      limits: { ppsrPerDay: 1 },
      given: [{ ...ppsr(evals.searchFails), expects: 400 }],
      send: ppsr(),
      status: 200,
    },
    {
      says: 'daily: tomorrow there is another',
      limits: { ppsrPerDay: 1, ppsrPerVehicle: 1 },
      given: [ppsr(), (session) => session.advance(day)],
      send: ppsr(),
      status: 200,
    },
  ]),
  ...table('A §4 /carhistory', [
    {
      says: 'Car History report: 200',
      send: carHistory(),
      status: 200,
      check: ({ body }) =>
        expect(body).toEqual({
          ID: expect.any(Number),
          CreatedAt: now,
          PdfUrl: expect.stringContaining('/pdf/car_history/'),
        }),
    },
    {
      says: 'report attached: /getpastcarhistory has it',
      given: [carHistory()],
      send: pastCarHistory(),
      status: 200,
      body: [{ WatchStatus: text }],
    },
    {
      says: 'contains no SearchNumber, CertificateNumber or safety-recall data',
      send: carHistory(),
      status: 200,
      check: ({ body }) =>
        expect(JSON.stringify(body)).not.toMatch(/SearchNumber|CertificateNumber|recall/i),
    },
    {
      says: 'the dealership must have it enabled: 403',
      send: carHistory(evals.otherGroup, three),
      status: 403,
      body: { error: expect.stringContaining('enabled') },
    },
    {
      says: 'one run per eval at a time: 429 `Request in progress, please wait`',
      limits: { carHistoryMs: 1500 },
      given: [
        async (session) => {
          void session.send(carHistory()).catch(() => undefined)
          while (session.sandbox.requests.inFlightMax() < 1)
            await new Promise((resolve) => setImmediate(resolve))
        },
      ],
      send: carHistory(),
      status: 429,
      body: { error: 'Request in progress, please wait' },
    },
    {
      says: 'one run per eval: when it has ended, another may run',
      given: [carHistory()],
      send: carHistory(),
      status: 200,
    },
    {
      says: '429 daily throttle',
      limits: { carHistoryPerDay: 1 },
      given: [carHistory()],
      send: carHistory(evals.open),
      status: 429,
      body: { error: expect.stringContaining('Daily throttle') },
    },
    {
      says: '500 failed to get vehicle history: again when it is requested again',
      given: [{ ...carHistory(evals.historyFails), expects: 500 }],
      send: carHistory(evals.historyFails),
      status: 500,
      body: { error: 'Failed to get vehicle history' },
    },
    {
      says: '500 leaves no report',
      given: [{ ...carHistory(evals.historyFails), expects: 500 }],
      send: pastCarHistory(evals.historyFails),
      status: 200,
      body: [],
    },
  ]),
  ...table('A §4 /getpastppsrsearch', [
    { says: 'empty array when none', send: pastPpsr(), status: 200, body: [] },
    {
      says: 'past certificates, newest first',
      given: [ppsr(), (session) => session.advance(day), ppsr()],
      send: pastPpsr(),
      status: 200,
      check: ({ body }) => {
        const times = listAt(body).map(({ CreatedAt }) => Date.parse(String(CreatedAt)))
        expect(times).toHaveLength(2)
        expect(times[0]).toBeGreaterThan(times[1] ?? Number.POSITIVE_INFINITY)
      },
    },
    {
      says: 'includes certificates made on other evals of the same dealer group for the same VIN',
      given: [ppsr(evals.sameCar, two)],
      send: pastPpsr(evals.done),
      status: 200,
      body: [{ WatchStatus: 'watching' }],
    },
    {
      says: 'of the same dealer group: not those of another one',
      given: [ppsr(evals.otherGroup, three)],
      send: pastPpsr(evals.done),
      status: 200,
      body: [],
    },
    {
      says: 'for the same VIN: not those of another one',
      given: [ppsr(evals.open)],
      send: pastPpsr(evals.done),
      status: 200,
      body: [],
    },
    {
      says: 'a failed search leaves no certificate',
      given: [{ ...ppsr(evals.searchFails), expects: 400 }],
      send: pastPpsr(evals.searchFails),
      status: 200,
      body: [],
    },
  ]),
  ...table('A §4 /getpastcarhistory', [
    { says: 'empty array when none', send: pastCarHistory(), status: 200, body: [] },
    {
      says: 'same shape as /getpastppsrsearch: newest first, array with WatchStatus',
      given: [carHistory(), (session) => session.advance(day), carHistory()],
      send: pastCarHistory(),
      status: 200,
      body: [{ WatchStatus: text }, { WatchStatus: text }],
      check: ({ body }) => {
        const times = listAt(body).map(({ CreatedAt }) => Date.parse(String(CreatedAt)))
        expect(times[0]).toBeGreaterThan(times[1] ?? Number.POSITIVE_INFINITY)
      },
    },
    {
      says: 'a PPSR certificate is not a Car History report',
      given: [ppsr()],
      send: pastCarHistory(),
      status: 200,
      body: [],
    },
  ]),
  ...table('A §2 past checks', [
    {
      says: 'a PDF link: it leads to a PDF',
      given: [ppsr()],
      send: pastPpsr(),
      status: 200,
      check: async ({ body }) => {
        const response = await fetch(linkIn(body))
        expect(response.headers.get('content-type')).toContain('application/pdf')
        expect(await response.text()).toMatch(/^%PDF-/)
      },
    },
    {
      says: 'a PDF link: Car History too',
      given: [carHistory()],
      send: pastCarHistory(),
      status: 200,
      check: async ({ body }) => {
        expect(await (await fetch(linkIn(body))).text()).toMatch(/^%PDF-/)
      },
    },
    {
      says: 'freshly signed: asked again later, the link is another',
      given: [ppsr(), pastPpsr(), (session) => session.advance(60)],
      send: pastPpsr(),
      status: 200,
      check: ({ body }, { last }) => expect(linkIn(body)).not.toBe(linkIn(last.body)),
    },
    {
      says: 'Car History: SearchNumber (provider transaction reference)',
      given: [carHistory()],
      send: pastCarHistory(),
      status: 200,
      check: ({ body }) => expect(String(at(body, '0.SearchNumber'))).toMatch(/^(?!undefined)\S+/),
    },
    {
      says: 'Car History: CertificateNumber null when no PPSR certificate was retrieved',
      given: [carHistory()],
      send: pastCarHistory(),
      status: 200,
      body: [{ CertificateNumber: null }],
    },
    {
      says: 'Car History: CertificateNumber of the PPSR certificate when one was also retrieved',
      given: [ppsr(), (session) => session.advance(60), carHistory()],
      send: pastCarHistory(),
      status: 200,
      check: ({ body }) => expect(String(at(body, '0.CertificateNumber'))).toMatch(/\d/),
    },
  ]),
]

/** The PDF link of the first item; its name is not shown, the sandbox speaks the first of the wire setting. */
export function linkIn(body: unknown): string {
  return String(at(body, '0.PdfUrl'))
}
