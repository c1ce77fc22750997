import { hash32 } from '../values/hash32.ts'
import { findSample } from './find-vehicle.ts'
import type { ModelPrices } from './price-model.ts'
import { samples } from './samples.ts'

/** [A §3] */
export type ReasoningStatus = 'processing' | 'completed' | 'unavailable'

/** The reasoning of the pricing AI, which starts at the first request for it. */
export class Reasoning {
  readonly #askedAt = new Map<number, number>()

  /** The status of the reasoning for an evaluation; the first call starts it. */
  start(evalId: number, vin: string | null | undefined, now: Date): ReasoningStatus {
    const askedAt = this.#askedAt.get(evalId) ?? now.getTime()
    this.#askedAt.set(evalId, askedAt)
    return reasoningStatus(`evaluation ${evalId}`, vin, now.getTime() - askedAt)
  }

  /** Whether the reasoning was started and is not finished. */
  isRunning(evalId: number, now: Date): boolean {
    const askedAt = this.#askedAt.get(evalId)
    return askedAt !== undefined && isRunning(`evaluation ${evalId}`, now.getTime() - askedAt)
  }
}

/** `processing` for 10 to 90 seconds [A §8], then `completed`; `unavailable` for the sample and about one in twenty.
 *  A function of the subject and the elapsed time. */
export function reasoningStatus(
  subject: string,
  vin: string | null | undefined,
  elapsedMs: number,
): ReasoningStatus {
  if (isRunning(subject, elapsedMs)) return 'processing'
  const sample = findSample(vin)
  const fails =
    sample === undefined
      ? hash32(`reasoning on ${subject} ends`) % 20 === 0
      : sample.vin === samples.reasoningUnavailable.vin
  return fails ? 'unavailable' : 'completed'
}

function isRunning(subject: string, elapsedMs: number): boolean {
  return elapsedMs < 10_000 + (hash32(`reasoning on ${subject} takes`) % 80_001)
}

/** The vehicle and prices that insights describe. */
export interface InsightSubject {
  /** Year, make, model and variant. */
  readonly name: string
  /** Odometer as the region reads it, and its unit; null where it is unknown. */
  readonly odometer: number | null
  readonly unit: 'km' | 'mi'
  /** In the same unit; for the age. */
  readonly usualOdometer: number
  /** ISO 4217. */
  readonly currency: string
  readonly prices: ModelPrices
}

/** Bullet points of the pricing AI [A §2 PricingAiPayload]. The same figures for dealer and customer: what to pay and to ask, and why the offer is fair. */
export function insightsFor(subject: InsightSubject) {
  const { name, prices, currency } = subject
  const money = (amount: number) => `${currency} ${grouped(amount)}`
  const margin = prices.sweetSpot - prices.buyToRetail
  const retails = `${money(prices.retailLow)} and ${money(prices.retailHigh)}`
  const trades = `${money(prices.wholesaleLow)} to ${money(prices.wholesaleHigh)}`
  const bought = `Bought at ${money(prices.buyToRetail)} and offered at ${money(prices.sweetSpot)}`
  return {
    dealer: [
      `The ${name} retails between ${retails}; most sell near ${money(prices.retail)}.`,
      `${driven(subject)}, which is in the price.`,
      `${bought} it leaves ${money(margin)} before reconditioning.`,
      `The trade takes it at ${money(prices.quickSale)}; confidence is ${prices.confidence}.`,
    ],
    customer: [
      `Dealers pay ${trades} for a ${name} like yours.`,
      `${driven(subject)}, and the estimate takes that into account.`,
      `Prepared and with a warranty it is offered for about ${money(prices.retail)}.`,
    ],
  }
}

function driven({ odometer, unit, usualOdometer }: InsightSubject): string {
  const usual = `${grouped(usualOdometer)} ${unit} that are usual for its age`
  if (odometer === null) return `Its mileage is taken to be the ${usual}`
  const place = odometer < usualOdometer ? 'below' : 'above'
  return `It has done ${grouped(odometer)} ${unit}, ${place} the ${usual}`
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en')
}
