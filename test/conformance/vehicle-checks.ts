import { expect } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
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
      says: 'counts of registered security interests, write-offs and stolen reports',
      send: searched(auVin),
      status: 200,
      body: { securityInterests: count, writeOffs: count, stolen: count },
    },
  ]),
  ...table('V §3 PPSR watch', [
    {
      says: 'lets the caller watch for changes: changed on the third day',
      given: [searched(samples.auWatchChanges.vin), (session) => session.advance(4 * day)],
      send: ({ last }) => watch(at(last.body, 'searchId')),
      status: 200,
      body: { watchStatus: 'changed' },
    },
    {
      says: 'states as in the other document: over after 14 days',
      given: [searched(samples.auSingle.vin), (session) => session.advance(15 * day)],
      send: ({ last }) => watch(at(last.body, 'searchId')),
      status: 200,
      body: { watchStatus: expect.stringMatching(/^(expired|changed)$/) },
    },
    {
      says: 'states as in the other document: disabled',
      given: [searched(samples.auWatchDisabled.vin)],
      send: ({ last }) => watch(at(last.body, 'searchId')),
      status: 200,
      body: { watchStatus: 'disabled' },
    },
  ]),
]

function branded(body: unknown): string {
  return JSON.stringify(at(body, 'brands'))
}
