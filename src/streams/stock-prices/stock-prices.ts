import { MissingField } from '../../contract/operation.ts'
import { pollPriceBatch, submitPriceBatch } from '../../contract/vehicle-data/prices.ts'
import { storable } from '../../values/text.ts'
import { type BatchUnit, defineBatchStream } from '../batch-stream.ts'
import { countOnHand, dueUnits, skippedUnits } from './due.ts'
import { decodeVin, storeLookUps, vinsToDecode } from './look-ups.ts'
import { marketField, skipReasonOf } from './market.ts'
import { normaliseStockPrice, type StockPriceRecord } from './normalise.ts'
import { observeStockPrices } from './observe.ts'

/** Prices of the stock on hand, kept as observations [V §4 /v1/price-batch]. */
export const stockPrices = defineBatchStream<StockPriceRecord>({
  name: 'stock-prices',
  endpoint: submitPriceBatch.name,
  // The document tells no time by which a batch ends: it may take as long as it goes on.
  polling: { everySeconds: submitPriceBatch.polling!.everySeconds, maxStallSeconds: 600 },
  skipReason: skipReasonOf,
  countOnHand,
  lookUpsDue: vinsToDecode,
  lookUp: decodeVin,
  storeLookUps: storeLookUps,
  due: dueUnits,
  skippedUnits: skippedUnits,

  async submit({ services }, rooftop, { batchNo, units }, settings, options) {
    const { answer } = await services.call(submitPriceBatch, {
      ...options,
      naturalKey: `batch ${batchNo}`,
      fields: { vehicles: units.map(vehicleOf), ...marketField(rooftop, settings) },
    })
    const { batchId } = answer()
    if (batchId === null || !isStorableId(batchId))
      throw new MissingField('vehicleData.priceBatch.submit.batchId')
    return batchId
  },

  async poll({ services }, { batchNo, batchId }, options) {
    const { answer, text, date } = await services.call(pollPriceBatch, {
      ...options,
      naturalKey: `batch ${batchNo}`,
      fields: { batchId },
    })
    const { percentComplete: percent, results } = answer()
    if (percent === null) throw new MissingField('vehicleData.priceBatch.poll.percentComplete')
    if (percent < 100) return { percent, results: null, text, at: date }
    if (results === null) throw new MissingField('vehicleData.priceBatch.poll.results')
    const told = results.map((result) => ({
      reference: result.reference,
      record: normaliseStockPrice(result),
    }))
    return { percent, results: told, text, at: date }
  },

  load: observeStockPrices,
})

/** As its column holds it; any other id could never be asked for again. */
function isStorableId(batchId: string): boolean {
  return batchId.length <= 200 && storable(batchId) === batchId
}

/** The code says which vehicle it is; the VIN, of which specification. A mileage that is not known is left out [V §8]. */
function vehicleOf({ stockNo, vin, adcode, odometerKm }: BatchUnit) {
  return {
    reference: stockNo,
    ...(adcode === null ? {} : { adcode }),
    ...(vin === null || vin.length !== 17 ? {} : { vin }),
    ...(odometerKm === null ? {} : { km: odometerKm }),
  }
}
