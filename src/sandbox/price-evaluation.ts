import { hash32 } from '../values/hash32.ts'
import { type CatalogueVehicle, catalogue } from './catalogue.ts'
import { decodeVin } from './find-vehicle.ts'
import { fieldsAt } from './lifecycle.ts'
import {
  ageAt,
  averageKm,
  currencySymbol,
  kmPerUnit,
  type ModelPrices,
  modelPrices,
} from './price-model.ts'
import { type InsightSubject, insightsFor } from './reasoning.ts'
import type { JsonObject } from './render.ts'
import type { SandboxState } from './sandbox-state.ts'
import type { Evaluation, EvaluationFields, Region, Rooftop } from './world-types.ts'

/** An evaluation with its prices, in whole units of the rooftop's currency. */
interface PricedEvaluation {
  readonly evaluation: Evaluation
  readonly rooftop: Rooftop
  readonly fields: EvaluationFields
  readonly vehicle: CatalogueVehicle
  readonly year: number
  readonly prices: ModelPrices
}

/** The current prices of an evaluation. */
export function priceEvaluation(
  { world }: Pick<SandboxState, 'world'>,
  evaluation: Evaluation,
  now: Date,
): PricedEvaluation {
  const rooftop = world.rooftop(evaluation.rooftopUid)!
  const fields = fieldsAt(evaluation, now)
  return { evaluation, rooftop, fields, ...priceVehicle(fields, rooftop, now) }
}

type DescribedVehicle = Pick<
  EvaluationFields,
  'vin' | 'make' | 'model' | 'variant' | 'year' | 'odometer'
>

/** The prices of a vehicle as an evaluation describes it. */
export function priceVehicle(
  fields: DescribedVehicle,
  { region, currency }: Pick<Rooftop, 'region' | 'currency'>,
  at: Date,
): Pick<PricedEvaluation, 'vehicle' | 'year' | 'prices'> {
  const vehicle = findPricedVehicle(fields, region)
  const year = fields.year ?? Math.round((vehicle.firstYear + vehicle.lastYear) / 2)
  const odometer = fields.odometer ?? null
  const km = odometer === null ? null : odometer * kmPerUnit(region)
  return { vehicle, year, prices: modelPrices({ vehicle, year, km, at, currency }) }
}

/** PricingAiPayload with its exact field names [A §2]; a request for the reasoning starts it. */
export function pricingPayload(
  { reasoning }: Pick<SandboxState, 'reasoning'>,
  priced: PricedEvaluation,
  now: Date,
  withReasoning: boolean,
): JsonObject {
  const { evaluation, rooftop, fields, prices } = priced
  const { evalId } = evaluation
  const status = withReasoning ? reasoning.start(evalId, fields.vin, now) : null
  const insights =
    status === 'completed'
      ? insightsFor(insightSubject(priced, now))
      : { dealer: null, customer: null }
  return {
    confidence: prices.confidence,
    prediction_date: now.toISOString().slice(0, 10),
    prices: {
      wholesale: prices.wholesale,
      wholesale_low: prices.wholesaleLow,
      wholesale_high: prices.wholesaleHigh,
      buy_to_retail: prices.buyToRetail,
      retail: prices.retail,
      quick_sale: prices.quickSale,
      sweet_spot: prices.sweetSpot,
    },
    currency_symbol: currencySymbol(rooftop.currency),
    evalId,
    ...(status === null ? {} : { reasoning: { status, ...insights } }),
  }
}

/** Finds the vehicle by make, model and variant, else by make and model, else by VIN, else any vehicle of the region. */
function findPricedVehicle({ vin, make, model, variant }: DescribedVehicle, region: Region) {
  const known = catalogue.filter((vehicle) => vehicle.region === region)
  const alike = known.filter((vehicle) => vehicle.make === make && vehicle.model === model)
  const named = alike.find((vehicle) => vehicle.variant === variant) ?? alike[0]
  if (named !== undefined) return named
  const decoded = decodeVin(vin ?? '', region)
  if (decoded.kind === 'single') return decoded.vehicle
  if (decoded.kind === 'ambiguous') return decoded.vehicles[0]!
  return known[hash32(`price of ${make} ${model}`) % known.length]!
}

function insightSubject(priced: PricedEvaluation, now: Date): InsightSubject {
  const { rooftop, fields, vehicle, year, prices } = priced
  const { make = vehicle.make, model = vehicle.model, variant = vehicle.variant } = fields
  return {
    name: [year, make, model, variant].filter((one) => one !== null).join(' '),
    odometer: fields.odometer ?? null,
    unit: rooftop.region === 'US' ? 'mi' : 'km',
    usualOdometer: averageKm(ageAt({ year, at: now })) / kmPerUnit(rooftop.region),
    currency: rooftop.currency,
    prices,
  }
}
