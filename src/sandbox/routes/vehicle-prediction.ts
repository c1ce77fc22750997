import { pollPrediction, predictPrice } from '../../api/contract/vehicle-data/prediction.ts'
import { serveVehicleData } from '../call.ts'
import { describe } from '../catalogue.ts'
import { isRegionalSpec } from '../factory-build.ts'
import { marketCurrency, requireVehicle } from '../find-vehicle.ts'
import { type Prediction, predictionStatusAt } from '../jobs.ts'
import { ageAt, averageKm, modelPrices } from '../price-model.ts'
import { insightsFor } from '../reasoning.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, valuesAt } from '../render.ts'
import type { SandboxState } from '../sandbox-state.ts'

/** Prices at once, in the currency of the vehicle's region; reasoning later [V §4 /v1/prediction]. */
export const prediction = serveVehicleData(predictPrice, ({ fields, now, service }) => {
  const { vin = null, km = null, reasoning: withReasoning = false } = fields
  const known = requireVehicle(fields, { world: service.world, now })
  const at = predictionDate(fields.predictDate, now)
  const currency = marketCurrency(known.vehicle, undefined)
  const prices = modelPrices({
    ...known,
    km,
    at,
    currency,
    gccSpec: isRegionalSpec(known.vehicle, vin),
  })
  const draft = { ...known, askedAt: now, at, vin, km, currency, prices, withReasoning }
  return renderPrediction(service.jobs.addPrediction(draft), service, now)
})

/** The current state of a prediction. */
export const predictionStatus = serveVehicleData(pollPrediction, ({ fields, now, service }) => {
  const known = service.jobs.prediction(fields.requestId)
  if (known === undefined) throw new Refusal(404, 'Request not found')
  return renderPrediction(known, service, now)
})

/** Noon of the day; now when it is today or left out. 400 for a day that has not started in UTC. */
function predictionDate(date: string | undefined, now: Date): Date {
  const today = now.toISOString().slice(0, 10)
  if (date === undefined || date === today) return now
  if (date > today) throw new Refusal(400, 'predictDate is in the future')
  return new Date(`${date}T12:00:00Z`)
}

/** Insights only when requested; null until they are complete [A §2 reasoning]. */
function renderPrediction(one: Prediction, { wire }: SandboxState, now: Date): JsonObject {
  const names = wire.vehicleData.prediction
  const status = predictionStatusAt(one, now)
  const { wholesale, retail, buyToRetail, quickSale, sweetSpot, confidence } = one.prices
  const insights = status === 'completed' ? insightsOn(one) : { dealer: null, customer: null }
  return valuesAt(names, {
    requestId: one.id,
    ...{ status, wholesale, retail, buyToRetail, quickSale, sweetSpot, confidence },
    ...(one.withReasoning ? insights : {}),
  })
}

function insightsOn({ vehicle, year, at, km, currency, prices }: Prediction) {
  return insightsFor({
    name: describe(vehicle, year),
    odometer: km,
    unit: 'km',
    usualOdometer: averageKm(ageAt({ year, at })),
    currency,
    prices,
  })
}
