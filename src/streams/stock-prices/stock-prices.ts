import { MissingField } from '../../contract/operation.ts'
import { pollPriceBatch, submitPriceBatch } from '../../contract/vehicle-data/prices.ts'
import { storable } from '../../values/text.ts'
import { type BatchUnit, defineBatchStream } from '../batch-stream.ts'
import { countOnHand, dueUnits, skippedUnits } from './due.ts'
import { decodeVin, storeLookUps, vinsToDecode } from './vin-lookups.ts'
import { marketField, skipReasonOf } from './market.ts'
import { normaliseStockPrice, type StockPriceRecord } from './normalise.ts'
import { observeStockPrices } from './observe.ts'

/** Prices of the stock on hand, stored as observations [V §4 /v1/price-batch]. */
export const stockPrices = defineBatchStream<StockPriceRecord>({
  name: 'stock-prices',
  endpoint: submitPriceBatch.name,
  // The document names no time limit: a batch may take as long as it makes progress.
  polling: { everySeconds: submitPriceBatch.polling!.everySeconds, maxStallSeconds: 600 },
  skipReason: skipReasonOf,
  countOnHand,
  lookUpsDue: vinsToDecode,
  lookUp: decodeVin,
  storeLookUps,
  due: dueUnits,
  skippedUnits,

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
    const normalised = results.map((result) => ({
      reference: result.reference,
      record: normaliseStockPrice(result),
    }))
    return { percent, results: normalised, text, at: date }
  },

  load: observeStockPrices,
})

/** Whether the column can hold the id; a batch with any other id could never be polled. */
function isStorableId(batchId: string): boolean {
  return batchId.length <= 200 && storable(batchId) === batchId
}

/** The code identifies the vehicle, the VIN its specification. A mileage that is not known is left out [V §8]. */
function vehicleOf({ stockNo, vin, adcode, odometerKm }: BatchUnit) {
  return {
    reference: stockNo,
    ...(adcode === null ? {} : { adcode }),
    ...(vin === null || vin.length !== 17 ? {} : { vin }),
    ...(odometerKm === null ? {} : { km: odometerKm }),
  }
}
