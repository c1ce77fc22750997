import { z } from 'zod'
import type { WireSettings } from '../../../values/wire.ts'
import { vin17 } from '../fields.ts'
import {
  fromWireNames,
  MissingField,
  operation,
  type Polling,
  readAs,
  requiresOneField,
} from '../operation.ts'
import { fieldReader, listAt, numberAt, textAt } from '../reading.ts'
import { readJson } from '../text-fields.ts'

const keyErrors = { 401: 'no API key', 403: 'wrong API key' }
const number = z.number().nullish()

/** [V §2 Price guide result] */
const guide = z.looseObject({
  adcode: z.string(),
  highRetail: number,
  lowRetail: number,
  highWholesale: number,
  lowWholesale: number,
  highWholesalePerfect: number,
  lowWholesalePerfect: number,
  currency: z.string(),
})

/** Live or back-dated prices of one vehicle [V §4 /v1/gccpriceguide]. */
export const getPriceGuide = operation({
  name: 'gccpriceguide',
  service: 'vehicleData',
  effect: 'read',
  transport: { path: '/v1/gccpriceguide', encoding: 'form' },
  summary: 'Retail and wholesale ranges by code or VIN, for a mileage and a month of sale',
  source: '[V §4 /v1/gccpriceguide]',
  fields: {
    adcode: z.string().min(1).optional().describe('catalogue code'),
    vin: vin17.optional().describe('instead of the code'),
    market: z.string().min(1).optional().describe('two-letter country code'),
    km: z.number().min(0).optional().describe('left out: average for the age'),
    gccSpec: z.boolean().optional().describe('GCC or non-GCC specification'),
    saleMonth: z.int().min(1).max(12).optional().describe('with saleYear, up to five years back'),
    saleYear: z.int().min(1990).max(2100).optional(),
  },
  problem: requiresOneField('adcode', 'vin'),
  names: ({ vehicleData: { priceGuide } }) => ({
    vin: priceGuide.vin,
    gccSpec: priceGuide.gccSpec,
    saleMonth: priceGuide.saleMonth,
    saleYear: priceGuide.saleYear,
  }),
  statuses: {
    ...keyErrors,
    400: 'neither code nor VIN, a market without coverage, or a month of sale outside the last five years',
    404: 'VIN not found',
  },
  example: { adcode: 'AU0TOYHILUX01', market: 'AU', km: 48_000 },
  read: readAs(guide),
})

const batchVehicle = z.strictObject({
  reference: z.string().min(1).describe("the caller's own stock reference"),
  // Of any length: one that cannot be priced is an error of its own, not of the batch.
  vin: z.string().min(1).optional(),
  adcode: z.string().min(1).optional(),
  km: z.number().min(0).optional(),
})

/** Polled by reference until 100 percent [V §3]. */
const untilPriced: Polling = {
  operation: 'price-batch-status',
  fields: (body, _sent, { vehicleData }) => {
    const batchId = textAt(body, vehicleData.priceBatch.submit.batchId)
    if (batchId === null) throw new MissingField('vehicleData.priceBatch.submit.batchId')
    return { batchId }
  },
  progress: (body, { vehicleData }) => {
    const { percentComplete, results } = vehicleData.priceBatch.poll
    const percent = numberAt(body, percentComplete)
    if (percent === null) throw new MissingField('vehicleData.priceBatch.poll.percentComplete')
    if (percent >= 100 && listAt(body, results) === null)
      throw new MissingField('vehicleData.priceBatch.poll.results')
    return { done: percent >= 100, percent }
  },
  everySeconds: 3,
  maxWaitSeconds: 1800,
}

/** Prices a stock list; submitted once, since a repeat would be a second batch [V §4 /v1/price-batch]. */
export const submitPriceBatch = operation({
  name: 'price-batch',
  service: 'vehicleData',
  effect: 'read',
  repeatable: false,
  transport: ({ vehicleData }) => ({
    path: '/v1/price-batch',
    encoding: vehicleData.priceBatch.submit.encoding,
  }),
  summary: 'Prices a whole stock list, each vehicle with its stock reference; asynchronous',
  source: '[V §4 /v1/price-batch]',
  fields: {
    vehicles: z.array(batchVehicle).min(1).describe('JSON: [{ reference, vin | adcode, km }]'),
    market: z.string().min(1).optional().describe('two-letter country code'),
  },
  toWire: batchToWire,
  fromWire: batchFromWire,
  statuses: {
    ...keyErrors,
    400: 'no vehicles, or one without a reference',
    413: 'more vehicles than a batch may hold',
  },
  polling: untilPriced,
  example: { vehicles: [{ reference: 'S-1', adcode: 'AU0TOYHILUX01', km: 48_000 }], market: 'AU' },
  read: fieldReader({ text: ['batchId'] }, ({ vehicleData }) => vehicleData.priceBatch.submit),
})

const batchPrice = fieldReader(
  {
    text: ['reference', 'currency', 'error'],
    number: [
      ...(['retail', 'retailLow', 'retailHigh'] as const),
      ...(['wholesale', 'wholesaleLow', 'wholesaleHigh'] as const),
    ],
  },
  ({ vehicleData }) => vehicleData.priceBatch.poll,
)
/** A vehicle's prices as a batch gives them; money in `currency`. */
export type BatchPrice = ReturnType<typeof batchPrice>

/** Percent complete, and the results when it is 100 [V §3, §4 /v1/price-batch]. */
export const pollPriceBatch = operation({
  name: 'price-batch-status',
  service: 'vehicleData',
  effect: 'read',
  transport: ({ vehicleData: { priceBatch } }) => ({
    method: priceBatch.poll.method,
    path: priceBatch.poll.path,
    encoding: priceBatch.poll.method === 'GET' ? 'query' : 'json',
  }),
  summary: 'How far a price batch is, and its prices when it is complete',
  source: '[V §3, §4 /v1/price-batch]',
  fields: { batchId: z.string().min(1).describe('from the answer of price-batch') },
  names: ({ vehicleData: { priceBatch } }) => ({ batchId: priceBatch.poll.batchId }),
  statuses: { ...keyErrors, 404: 'batch not found' },
  example: { batchId: 'B-1' },
  read: Object.assign(readBatch, {
    placed: (wire: WireSettings) => {
      const { percentComplete, results } = wire.vehicleData.priceBatch.poll
      return [
        [percentComplete, number],
        [results, batchPrice.placed(wire)],
      ] as const
    },
  }),
})

type Sent = Readonly<Record<string, unknown>>

function batchToWire(fields: Sent, { vehicleData }: WireSettings): Record<string, unknown> {
  const { submit } = vehicleData.priceBatch
  const vehicles = (fields['vehicles'] as z.infer<typeof batchVehicle>[]).map((vehicle) => ({
    [submit.reference]: vehicle.reference,
    ...(vehicle.vin === undefined ? {} : { [submit.vin]: vehicle.vin }),
    ...(vehicle.adcode === undefined ? {} : { [submit.adcode]: vehicle.adcode }),
    ...(vehicle.km === undefined ? {} : { [submit.km]: vehicle.km }),
  }))
  const market = fields['market'] === undefined ? {} : { [submit.market]: fields['market'] }
  return { [submit.vehicles]: vehicles, ...market }
}

function batchFromWire(sent: Sent, { vehicleData }: WireSettings): Record<string, unknown> {
  const { submit } = vehicleData.priceBatch
  const { vehicles, ...fields } = fromWireNames(sent, {
    vehicles: submit.vehicles,
    market: submit.market,
  })
  const { reference, vin, adcode, km } = submit
  return vehicles === undefined
    ? fields
    : { ...fields, vehicles: fromJson(vehicles, { reference, vin, adcode, km }) }
}

/** In a form the vehicles are JSON text. */
function fromJson(vehicles: unknown, names: Readonly<Record<string, string>>): unknown {
  const list = typeof vehicles === 'string' ? readJson(vehicles) : vehicles
  if (!Array.isArray(list)) return list
  return list.map((one: unknown) =>
    one === null || typeof one !== 'object' ? one : fromWireNames(one as Sent, names),
  )
}

function readBatch(body: unknown, wire: WireSettings) {
  const { poll } = wire.vehicleData.priceBatch
  return {
    percentComplete: numberAt(body, poll.percentComplete),
    results: listAt(body, poll.results)?.map((one) => batchPrice(one, wire)) ?? null,
  }
}

export const priceOperations = [getPriceGuide, submitPriceBatch, pollPriceBatch] as const
