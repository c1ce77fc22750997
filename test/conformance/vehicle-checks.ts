import { expect } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import type { ApiSession } from './api-session.ts'
import { at } from './patterns.ts'
import { type Send, table, vehicle } from './row.ts'

const history = '/v1/historyCheck'
const ppsr = '/v1/ppsrNewSearch'
const usVin = samples.usSingle.vin
const auVin = samples.auSingle.vin
const day = 86_400
const count: unknown = expect.any(Number)
const watch = (searchId: unknown): Send => ({
  method: 'GET',
  path: `/v1/ppsrNewSearch/${searchId}`,
  isVehicleData: true,
})
const searched = (vin: string) => vehicle(ppsr, { vin })

export const vehicleCheckRows = [
  ...table('V §4 /v1/historyCheck', [
    {
      says: 'a VIN: 200 vehicle history report',
      send: vehicle(history, { vin: usVin }),
      status: 200,
    },
    { says: 'a VIN is needed (reading: 400)', send: vehicle(history, {}), status: 400 },
    {
      says: '404: VIN not found [V §7]',
      send: vehicle(history, { vin: samples.undecodable.vin }),
      status: 404,
    },
  ]),
  ...table('V §2 vehicle history report', [
    {
      says: 'title records, brand checks, salvage records, accidents, thefts, liens',
      send: vehicle(history, { vin: usVin }),
      status: 200,
      body: Object.fromEntries(
        ['titles', 'brands', 'salvage', 'accidents', 'thefts', 'liens'].map((name) => [
          name,
          expect.any(Array),
        ]),
      ),
    },
    {
      says: 'title records with odometer readings',
      send: vehicle(history, { vin: usVin }),
      status: 200,
      check: ({ body }) => expect(JSON.stringify(at(body, 'titles'))).toMatch(/odometer.*\d/i),
    },
    {
      says: 'a single clean flag',
      send: vehicle(history, { vin: usVin }),
      status: 200,
      body: { clean: expect.any(Boolean) },
    },
    {
      says: 'clean: free of title brands and salvage records [V §1]',
      send: vehicle(history, { vin: usVin }),
      status: 200,
      check: ({ body }) => {
        const isFree =
          at(body, 'salvage.length') === 0 && !/"(true|found)"|:true/.test(branded(body))
        expect(at(body, 'clean')).toBe(isFree)
      },
    },
  ]),
  ...table('V §4 /v1/ppsrNewSearch', [
    { says: 'a VIN: 200 PPSR certificate', send: searched(auVin), status: 200 },
    { says: 'a VIN is needed (reading: 400)', send: vehicle(ppsr, {}), status: 400 },
    {
      says: '404: VIN not found [V §7]',
      send: searched(samples.undecodable.vin),
      status: 404,
    },
    {
      says: 'the follow-up status endpoint: 200 with a watch status',
      given: [searched(auVin)],
      send: ({ last }) => watch(at(last.body, 'searchId')),
      status: 200,
      body: { watchStatus: 'watching' },
    },
    {
      says: 'the follow-up status endpoint: a search that was not made is not found',
      send: watch('PPSR-none'),
      status: 404,
    },
  ]),
  ...table('V §2 PPSR certificate', [
    {
      says: 'a PDF link',
      send: searched(auVin),
      status: 200,
      check: async ({ body }) => {
        const response = await fetch(String(at(body, 'pdfUrl')))
        expect(response.headers.get('content-type')).toContain('application/pdf')
        expect(await response.text()).toMatch(/^%PDF-/)
      },
    },
    {
      says: 'a PDF link: signed for a week as in the other document',
      send: searched(auVin),
      status: 200,
      body: { pdfUrl: expect.stringContaining('/pdf/ppsr/'), searchId: expect.any(String) },
      check: async ({ body }, session) => {
        session.advance(7 * day)
        expect((await fetch(String(at(body, 'pdfUrl')))).status).toBe(403)
      },
    },
    {
      says: 'counts of registered security interests, write-offs and stolen reports',
      send: searched(auVin),
      status: 200,
      body: { securityInterests: count, writeOffs: count, stolen: count },
    },
  ]),
  ...table('V §3 PPSR watch', [
    ...(
      [
        ['auSingle', 0, 'watching'],
        ['auSingle', 2, 'unchanged'],
        ['auSingle', 14, 'expired'],
        ['auWatchChanges', 2, 'unchanged'],
        ['auWatchChanges', 3, 'changed'],
        ['auWatchChanges', 14, 'changed'],
        ['auWatchDisabled', 0, 'disabled'],
        ['auWatchDisabled', 14, 'disabled'],
      ] as const
    ).map(([sample, days, watchStatus]) => ({
      says: `states as in the other document: ${sample} after ${days} days is ${watchStatus}`,
      given: [searched(samples[sample].vin), (session: ApiSession) => session.advance(days * day)],
      send: ({ last }: ApiSession) => watch(at(last.body, 'searchId')),
      status: 200,
      body: { watchStatus },
    })),
  ]),
]

function branded(body: unknown): string {
  return JSON.stringify(at(body, 'brands'))
}
