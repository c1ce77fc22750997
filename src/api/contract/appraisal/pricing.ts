import { z } from 'zod'
import { evalid } from '../fields.ts'
import { operation, type Polling, readAs } from '../operation.ts'
import { pricingPayload } from './shapes.ts'

const reasoningStatus = (body: unknown): unknown =>
  (body as { reasoning?: { status?: unknown } } | null)?.reasoning?.status

/** The same URL is polled every 10 to 15 s for up to about 3 minutes [A §8]. */
const untilReasoned: Polling = {
  operation: 'pricingAi',
  fields: (body, sent) => (reasoningStatus(body) === 'processing' ? sent : null),
  progress: (body) => ({ done: reasoningStatus(body) !== 'processing', percent: null }),
  everySeconds: 12,
  maxWaitSeconds: 180,
}

/** Needs a complete evaluation with mileage [A §4 /pricingAi/payload/{evalid}]. */
export const getPricing = operation({
  name: 'pricingAi',
  aliases: ['pricingAi/payload', 'pricing'],
  effect: 'read',
  transport: { method: 'GET', path: '/pricingAi/payload/{evalid}', encoding: 'query' },
  summary: 'The pricing payload of a complete evaluation with mileage',
  source: '[A §4 /pricingAi/payload/{evalid}]',
  fields: {
    evalid,
    reasoning: z.boolean().optional().describe('1/true to include the reasoning block'),
  },
  statuses: {
    400: 'evaluation not found',
    403: 'forbidden or invalid key',
    429: 'sandbox real-lookup quota reached',
  },
  polling: untilReasoned,
  example: { evalid: 1001, reasoning: true },
  read: readAs(pricingPayload),
})

export const pricingOperations = [getPricing] as const
