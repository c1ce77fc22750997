import { z } from 'zod'
import { vin17 } from '../fields.ts'
import { operation } from '../operation.ts'
import { fieldReader } from '../reading.ts'

// History and PPSR by VIN; parameter and field names are wire settings [V §2, §4].

const errors = { 400: 'no VIN', 401: 'no API key', 403: 'wrong API key', 404: 'VIN not found' }

/** Title, brand, salvage, accident, theft and lien records of the EU and the US [V §4 /v1/historyCheck]. */
export const checkHistory = operation({
  name: 'historyCheck',
  service: 'vehicleData',
  effect: 'bill',
  budget: 'historyCheck',
  timeoutSeconds: 120,
  transport: { path: '/v1/historyCheck', encoding: 'form' },
  summary: "A VIN's history across EU and US sources",
  source: '[V §4 /v1/historyCheck]',
  fields: { vin: vin17 },
  names: ({ vehicleData }) => ({ vin: vehicleData.historyCheck.vin }),
  statuses: errors,
  example: { vin: 'SAMPLEUS000000001' },
  read: fieldReader(
    { flag: ['clean'], list: ['titles', 'brands', 'salvage', 'accidents', 'thefts', 'liens'] },
    ({ vehicleData }) => vehicleData.historyCheck,
  ),
})

/** An official certificate: a PDF link and counts [V §4 /v1/ppsrNewSearch]. */
export const searchNewPpsr = operation({
  name: 'ppsrNewSearch',
  service: 'vehicleData',
  effect: 'bill',
  budget: 'ppsrSearch',
  timeoutSeconds: 120,
  transport: { path: '/v1/ppsrNewSearch', encoding: 'form' },
  summary: 'An official PPSR search certificate from a VIN',
  source: '[V §4 /v1/ppsrNewSearch]',
  fields: { vin: vin17 },
  names: ({ vehicleData }) => ({ vin: vehicleData.ppsrSearch.vin }),
  statuses: errors,
  example: { vin: 'SAMPLEAU000000001' },
  read: fieldReader(
    { text: ['searchId'], link: ['pdfUrl'], count: ['securityInterests', 'writeOffs', 'stolen'] },
    ({ vehicleData }) => vehicleData.ppsrSearch,
  ),
})

/** The follow-up status endpoint; its path and fields are not shown [V §1, §4 /v1/ppsrNewSearch]. */
export const watchNewPpsr = operation({
  name: 'ppsrNewSearch-watch',
  service: 'vehicleData',
  effect: 'read',
  transport: ({ vehicleData }) => ({
    method: 'GET',
    path: vehicleData.ppsrSearch.watchPath,
    encoding: 'query',
  }),
  summary: 'Whether security interests changed since a PPSR search',
  source: '[V §3, §4 /v1/ppsrNewSearch]',
  fields: { searchId: z.string().min(1).describe('from the answer of ppsrNewSearch') },
  statuses: { 401: 'no API key', 403: 'wrong API key', 404: 'search not found' },
  example: { searchId: 'PPSR-1' },
  read: fieldReader({ text: ['watchStatus'] }, ({ vehicleData }) => vehicleData.ppsrSearch),
})

export const vehicleCheckOperations = [checkHistory, searchNewPpsr, watchNewPpsr] as const
