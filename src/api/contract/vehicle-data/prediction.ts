import { z } from 'zod'
import { valueAt } from '../../../values/json-path.ts'
import type { WireSettings } from '../../../values/wire.ts'
import { vin17 } from '../fields.ts'
import { MissingField, operation, type Polling, requiresOneField } from '../operation.ts'
import { fieldReader, textAt } from '../reading.ts'

const keyErrors = { 401: 'no API key', 403: 'wrong API key' }

const readPrediction = fieldReader(
  {
    text: ['requestId', 'status'],
    number: ['wholesale', 'retail', 'buyToRetail', 'quickSale', 'sweetSpot'],
    any: ['confidence', 'dealer', 'customer'],
  },
  ({ vehicleData }) => vehicleData.prediction,
)

/** Whether the insights are still to come. Where no status is shown, by whether they are there. */
function isAwaited(body: unknown, { vehicleData: { prediction } }: WireSettings): boolean {
  const status = textAt(body, prediction.status)
  if (status !== null) return status === 'processing'
  const insights = [valueAt(body, prediction.dealer), valueAt(body, prediction.customer)]
  return insights.every((one) => one === undefined || one === null)
}

/** Typically 10-90 s, polled with a request ID [V §3, §8]. */
const untilPredicted: Polling = {
  operation: 'prediction-status',
  fields: (body, sent, wire) => {
    // Without reasoning the prices come at once [V §3].
    if (sent['reasoning'] !== true || !isAwaited(body, wire)) return null
    const requestId = textAt(body, wire.vehicleData.prediction.requestId)
    if (requestId === null) throw new MissingField('vehicleData.prediction.requestId')
    return { requestId }
  },
  progress: (body, wire) => ({ done: !isAwaited(body, wire), percent: null }),
  everySeconds: 12,
  maxWaitSeconds: 180,
}

/** Prices with reasoning, for today or a past date [V §4 /v1/prediction]. */
export const predictPrice = operation({
  name: 'prediction',
  service: 'vehicleData',
  effect: 'bill',
  budget: 'prediction',
  timeoutSeconds: 120,
  transport: { path: '/v1/prediction', encoding: 'form' },
  summary: 'Price prediction with reasoning by code or VIN; asynchronous with reasoning',
  source: '[V §4 /v1/prediction]',
  fields: {
    adcode: z.string().min(1).optional().describe('catalogue code'),
    vin: vin17.optional().describe('instead of the code'),
    km: z.number().min(0).optional(),
    predictDate: z.iso.date().optional().describe('YYYY-MM-DD, past dates are allowed'),
    reasoning: z.boolean().optional().describe('dealer and customer insights'),
  },
  problem: requiresOneField('adcode', 'vin'),
  names: ({ vehicleData: { prediction } }) => ({
    adcode: prediction.adcode,
    vin: prediction.vin,
    km: prediction.km,
    predictDate: prediction.predictDate,
    reasoning: prediction.reasoning,
  }),
  statuses: {
    ...keyErrors,
    400: 'neither code nor VIN, or a date in the future',
    404: 'VIN not found',
  },
  polling: untilPredicted,
  example: { adcode: 'AU0TOYHILUX01', km: 48_000, reasoning: true },
  read: readPrediction,
})

/** The prediction by its request ID; the path is not shown [V §4 /v1/prediction]. */
export const pollPrediction = operation({
  name: 'prediction-status',
  service: 'vehicleData',
  effect: 'read',
  transport: ({ vehicleData }) => ({
    method: 'GET',
    path: vehicleData.prediction.pollPath,
    encoding: 'query',
  }),
  summary: 'A prediction by its request ID',
  source: '[V §3, §4 /v1/prediction]',
  fields: { requestId: z.string().min(1).describe('from the answer of prediction') },
  statuses: { ...keyErrors, 404: 'request not found' },
  example: { requestId: 'P-1' },
  read: readPrediction,
})

export const predictionOperations = [predictPrice, pollPrediction] as const
