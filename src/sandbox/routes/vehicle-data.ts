import type { z } from 'zod'
import {
  checkHistory,
  searchNewPpsr,
  watchNewPpsr,
} from '../../api/contract/vehicle-data/checks.ts'
import { decodeAu, decodeGcc } from '../../api/contract/vehicle-data/decode.ts'
import { pollPrediction, predictPrice } from '../../api/contract/vehicle-data/prediction.ts'
import {
  getPriceGuide,
  pollPriceBatch,
  submitPriceBatch,
} from '../../api/contract/vehicle-data/prices.ts'
import { avalanche } from '../../values/hash32.ts'
import { type Endpoint, serveVehicleData, type VehicleCall } from '../call.ts'
import { describe } from '../catalogue.ts'
import { watchStatusAt } from '../checks.ts'
import { findFactoryBuild, isRegionalSpec } from '../factory-build.ts'
import {
  findMarket,
  type KnownVehicle,
  marketCurrency,
  plainVin,
  requireDecoded,
  requireVehicle,
} from '../find-vehicle.ts'
import { buildHistory } from '../history-report.ts'
import { recogniseImage } from '../images.ts'
import { type Prediction, type PricedVehicle, predictionStatusAt } from '../jobs.ts'
import { ageAt, averageKm, modelPrices, renderGuide } from '../price-model.ts'
import { insightsFor } from '../reasoning.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, valuesAt } from '../render.ts'
import { samples } from '../samples.ts'
import type { SandboxState } from '../sandbox-state.ts'
import { signedPdf } from './checks.ts'

/** The operations of the vehicle-data APIs. */
export const vehicleDataEndpoints: readonly Endpoint[] = [
  /** Decodes by VIN; the VIN has priority over an image [V §4 /v1/gccfactoryvinext]. */
  serveVehicleData(decodeGcc, async (call) => {
    const { now, service } = call
    const vin = plainVin(call.fields.vin ?? vinInImage(call))
    const { vehicle, year } = requireDecoded(vin, { world: service.world, now, regions: ['GCC'] })
    const build = findFactoryBuild(vin, vehicle, year)
    const body: JsonObject = {
      VehicleData: {
        VIN: vin,
        MY: String(year),
        Make: vehicle.make,
        Model: vehicle.model,
        Variant: vehicle.variant,
        Transmission: vehicle.transmission,
        Ext_Colour: build.exteriorColour,
        GCC: build.isGccSpec,
        ADCode: vehicle.adcode,
      },
      VehicleSpec: { FactoryOptions: build.options },
    }
    const { series, body: shape, engine, drivetrain } = vehicle
    const { buildMonth: buildDate, interiorColour } = build
    const unshown = { series, buildDate, body: shape, engine, drivetrain, interiorColour }
    return valuesAt(service.wire.vehicleData.gccDecode, unshown, body)
  }),
  /** Decodes a VIN; the client reference is returned [V §2 Factory VIN (AU)]. */
  serveVehicleData(decodeAu, ({ fields, now, service }) => {
    const vin = plainVin(fields.vin)
    const { vehicle, year } = requireDecoded(vin, { world: service.world, now, regions: ['AU'] })
    const { make, model, series, body, fuel, cylinders, engineLitres, transmission } = vehicle
    return valuesAt(service.wire.vehicleData.auDecode, {
      ...{ make, model, series, modelYear: String(year), body },
      ...{ fuel, cylinders, engineLitres, transmission },
      options: findFactoryBuild(vin, vehicle, year).options,
      adcode: vehicle.adcode,
      echo: fields.clientReference,
    })
  }),
  /** Price ranges by code or VIN, in the currency of the market [V §2 Price guide, §8]. */
  serveVehicleData(getPriceGuide, ({ fields, now, service }) => {
    const market = findMarket(fields.market)
    const at = saleDate(fields, now)
    const known = requireVehicle(fields, { world: service.world, now, market })
    const { currency, prices } = priceKnown(known, fields, at, market)
    return renderGuide(known.vehicle, prices, currency)
  }),
  /** A batch is accepted whole or not at all; the results name what cannot be priced [V §4 /v1/price-batch]. */
  serveVehicleData(submitPriceBatch, (call) => {
    const { fields, now, service } = call
    const { batchVehicles } = service.limits.current
    if (fields.vehicles.length > batchVehicles)
      throw new Refusal(413, `A batch holds up to ${batchVehicles} vehicles`)
    const priced = priceVehicles(call)
    const { id } = service.jobs.addBatch(inAnotherOrder(priced), now)
    return valuesAt(service.wire.vehicleData.priceBatch.submit, { batchId: id })
  }),
  /** The answer has results only when the batch is complete. */
  serveVehicleData(pollPriceBatch, ({ fields, now, service }) => {
    const batch = service.jobs.pollBatch(fields.batchId, now)
    if (batch === undefined) throw new Refusal(404, 'Batch not found')
    const names = service.wire.vehicleData.priceBatch.poll
    return valuesAt(names, {
      percentComplete: batch.percentComplete,
      results: batch.results?.map(({ reference, prices, currency, error }) =>
        valuesAt(names, { reference, ...prices, currency, error }),
      ),
    })
  }),
  /** Prices at once, in the currency of the vehicle's region; reasoning later [V §4 /v1/prediction]. */
  serveVehicleData(predictPrice, ({ fields, now, service }) => {
    const { vin = null, km = null, reasoning: withReasoning = false } = fields
    const known = requireVehicle(fields, { world: service.world, now })
    const at = predictionDate(fields.predictDate, now)
    const priced = priceKnown(known, fields, at)
    const draft = { ...known, askedAt: now, at, vin, km, ...priced, withReasoning }
    return renderPrediction(service.jobs.addPrediction(draft), service, now)
  }),
  /** The current state of a prediction. */
  serveVehicleData(pollPrediction, ({ fields, now, service }) => {
    const known = service.jobs.prediction(fields.requestId)
    if (known === undefined) throw new Refusal(404, 'Request not found')
    return renderPrediction(known, service, now)
  }),
  /** A history check of a vehicle of any region, since the sources are in the EU and the US [V §1, §4 /v1/historyCheck]. */
  serveVehicleData(checkHistory, ({ fields, now, service }) => {
    const vin = plainVin(fields.vin)
    const known = requireDecoded(vin, { world: service.world, now, regions: ['US', 'GCC', 'AU'] })
    return valuesAt(service.wire.vehicleData.historyCheck, buildHistory(vin, known, now))
  }),
  /** A search as at the appraisal service: watched for 14 days, with a link that is valid for a week. */
  serveVehicleData(searchNewPpsr, ({ fields, now, service }) => {
    const vin = plainVin(fields.vin)
    requireDecoded(vin, { world: service.world, now, regions: ['AU'] })
    if (vin === samples.auSearchFails.vin) throw new Refusal(400, 'The PPSR search failed')
    const check = service.checks.add({ kind: 'ppsr', vin, searchedAt: now, ...owner })
    const names = service.wire.vehicleData.ppsrSearch
    const pdfUrl = signedPdf(check, service, now)
    return valuesAt(names, { searchId: check.ref, pdfUrl, ...check.counts })
  }),
  /** The status that the watch of the appraisal service would have [V §3]. */
  serveVehicleData(watchNewPpsr, ({ fields, now, service }) => {
    const check = service.checks.withRef('ppsr', fields.searchId)
    if (check?.groupId !== owner.groupId) throw new Refusal(404, 'Search not found')
    const { ppsrSearch } = service.wire.vehicleData
    return valuesAt(ppsrSearch, { watchStatus: watchStatusAt(check, now) })
  }),
]

/** The VIN of an image. The sandbox does not read pixels: it takes the VIN from the file name and from plain text in the file. 400 when
 *  there is no image or it is not a valid JPG or PNG, 404 when it names no VIN. */
function vinInImage({ files, service }: VehicleCall): string {
  const field = service.wire.vehicleData.gccDecode.image
  const file = files.find((one) => one.field === field)
  if (file === undefined)
    throw new Refusal(400, `Send vin, or a JPG or PNG of the VIN in the field ${field}`)
  const image = recogniseImage(file.bytes)
  if (image === null || !['jpg', 'png'].includes(image.extension))
    throw new Refusal(400, 'The image cannot be read: it has to be a JPG or PNG')
  for (const text of [file.fileName, file.bytes.toString('latin1')]) {
    const vin = /(?<![A-Z0-9])[A-HJ-NPR-Z0-9]{17}(?![A-Z0-9])/i.exec(text)
    if (vin !== null) return vin[0]
  }
  throw new Refusal(404, 'VIN not found')
}

type GuideFields = z.infer<typeof getPriceGuide.fields>
type PricedFields = Pick<GuideFields, 'vin' | 'km' | 'gccSpec'>
type BatchFields = z.infer<typeof submitPriceBatch.fields>

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

/** Prices of a vehicle in the currency of the market, by default of its region. */
function priceKnown(
  known: KnownVehicle,
  { vin, km, gccSpec = isRegionalSpec(known.vehicle, vin) }: PricedFields,
  at: Date,
  market?: ReturnType<typeof findMarket>,
) {
  const currency = marketCurrency(known.vehicle, market)
  return { currency, prices: modelPrices({ ...known, km: km ?? null, at, currency, gccSpec }) }
}

function priceVehicles({ fields, now, service }: VehicleCall<BatchFields>): PricedVehicle[] {
  const market = findMarket(fields.market)
  return fields.vehicles.map((vehicle) => {
    const { reference } = vehicle
    try {
      const known = requireVehicle(vehicle, { world: service.world, now, market })
      return { reference, ...priceKnown(known, vehicle, now, market) }
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

/** The owner of these searches: the key of these APIs belongs to no dealer group, and no group sees them. */
const owner = { groupId: 'vehicle-data', rooftopUid: '', evalId: 0 }
