import type { z } from 'zod'
import {
  getPriceGuide,
  pollPriceBatch,
  submitPriceBatch,
} from '../../api/contract/vehicle-data/prices.ts'
import { avalanche } from '../../values/hash32.ts'
import { serveVehicleData, type VehicleCall } from '../call.ts'
import { isRegionalSpec } from '../factory-build.ts'
import { findMarket, marketCurrency, requireVehicle } from '../find-vehicle.ts'
import type { PricedVehicle } from '../jobs.ts'
import { modelPrices, renderGuide } from '../price-model.ts'
import { Refusal } from '../refusal.ts'
import { valuesAt } from '../render.ts'

type GuideFields = z.infer<typeof getPriceGuide.fields>
type BatchFields = z.infer<typeof submitPriceBatch.fields>

/** Price ranges by code or VIN, in the currency of the market [V §2 Price guide, §8]. */
export const priceGuide = serveVehicleData(getPriceGuide, ({ fields, now, service }) => {
  const market = findMarket(fields.market)
  const at = saleDate(fields, now)
  const known = requireVehicle(fields, { world: service.world, now, market })
  const currency = marketCurrency(known.vehicle, market)
  const prices = modelPrices({
    ...known,
    km: fields.km ?? null,
    at,
    currency,
    gccSpec: fields.gccSpec ?? isRegionalSpec(known.vehicle, fields.vin),
  })
  return renderGuide(known.vehicle, prices, currency)
})

/** An instant in the month of sale; now without one. 400 for an incomplete month, and for one outside the last five years. */
function saleDate({ saleMonth, saleYear }: GuideFields, now: Date): Date {
  if (saleMonth === undefined && saleYear === undefined) return now
  if (saleMonth === undefined || saleYear === undefined)
    throw new Refusal(400, 'The month and the year of sale belong together')
  const monthsAgo = (now.getUTCFullYear() - saleYear) * 12 + now.getUTCMonth() + 1 - saleMonth
  if (monthsAgo < 0) throw new Refusal(400, 'The month of sale is in the future')
  if (monthsAgo > 60) throw new Refusal(400, 'The month of sale is more than five years ago')
  return monthsAgo === 0 ? now : new Date(Date.UTC(saleYear, saleMonth - 1, 15))
}

/** A batch is accepted whole or not at all; the results name what cannot be priced [V §4 /v1/price-batch]. */
export const priceBatch = serveVehicleData(submitPriceBatch, (call) => {
  const { fields, now, service } = call
  const { batchVehicles } = service.limits.current
  if (fields.vehicles.length > batchVehicles)
    throw new Refusal(413, `A batch holds up to ${batchVehicles} vehicles`)
  const priced = priceVehicles(call)
  const { id } = service.jobs.addBatch(inAnotherOrder(priced), now)
  return valuesAt(service.wire.vehicleData.priceBatch.submit, { batchId: id })
})

/** The answer has results only when the batch is complete. */
export const priceBatchStatus = serveVehicleData(pollPriceBatch, ({ fields, now, service }) => {
  const batch = service.jobs.pollBatch(fields.batchId, now)
  if (batch === undefined) throw new Refusal(404, 'Batch not found')
  const names = service.wire.vehicleData.priceBatch.poll
  return valuesAt(names, {
    percentComplete: batch.percentComplete,
    results: batch.results?.map(({ reference, prices, currency, error }) =>
      valuesAt(names, { reference, ...prices, currency, error }),
    ),
  })
})

function priceVehicles({ fields, now, service }: VehicleCall<BatchFields>): PricedVehicle[] {
  const market = findMarket(fields.market)
  return fields.vehicles.map((vehicle) => {
    const { reference } = vehicle
    try {
      const known = requireVehicle(vehicle, { world: service.world, now, market })
      const currency = marketCurrency(known.vehicle, market)
      const gccSpec = isRegionalSpec(known.vehicle, vehicle.vin)
      const prices = modelPrices({ ...known, km: vehicle.km ?? null, at: now, currency, gccSpec })
      return { reference, prices, currency }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { reference, error: error.message }
    }
  })
}

/** Another order than the one sent, so that no client relies on it; always the same. */
function inAnotherOrder<T>(items: readonly T[]): readonly T[] {
  const mixed = items
    .map((item, index) => ({ item, index, rank: avalanche(index + 1) }))
    .sort((a, b) => a.rank - b.rank)
  if (mixed.every(({ index }, at) => index === at)) mixed.reverse()
  return mixed.map(({ item }) => item)
}
