import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import { defineEnrichment } from '../../sync/enrich/enrichment.ts'
import { planAsks, requestDue } from '../../sync/enrich/enrichment-slice.ts'
import { type PayloadRows, payloadKeys } from '../../sync/records/payload-rows.ts'
import { bindSlice, type Stream } from '../../sync/run/stream.ts'
import type { RecordWarning } from '../../values/record.ts'
import { daysUntilDue, duePrices } from './due.ts'
import { normalisePrice, type PriceRecord, pricingContent } from './normalise.ts'
import { derivePrices, observePrices } from './observe.ts'

const name = 'pricing'

const prices = defineEnrichment<PriceRecord>({
  name,
  asks: [getPricing.name],
  isSummed: true,
  polling: getPricing.polling!,

  // Every region has the pricing AI.
  serves: () => true,
  budget: ({ pricing: { budget } }) => budget,
  due: async (db, rooftop, ask) =>
    await duePrices(db, rooftop, { stream: name, ask: getPricing.name }, ask),

  async read({ services }, rooftop, { evalId }, { pricing: { reasoning } }, options) {
    const { body, text, date } = await services.call(getPricing, {
      ...options,
      rooftop,
      naturalKey: String(evalId),
      fields: { evalid: evalId, ...(reasoning ? { reasoning } : {}) },
    })
    return { body, text, at: date }
  },

  contentOf: pricingContent,
  normalise: (body, { evalId }, rooftop) => normalisePrice(body, evalId, rooftop),
  isPending: ({ reasoning }) => reasoning === 'processing',
  daysUntilDue: (ageDays) => daysUntilDue(ageDays),
  async load({ db }, rooftop, answers, runId) {
    const outcomes = await observePrices(db, rooftop, answers, runId)
    return answers.map(({ evalId, record }) => ({
      outcome: outcomes.get(evalId)!,
      warnings: symbolWarnings(record),
    }))
  },
})

const payloadRows: PayloadRows = {
  keysOf: (rooftopIds) => payloadKeys(rooftopIds, prices.asks),
  derive: derivePrices,
  isSummed: true,
}

/** Pricing AI: prices of complete evaluations with mileage, stored as observations [A §4 /pricingAi/payload/{evalid}]. */
export const pricing: Stream = {
  name,
  endpoints: prices.asks,
  enrichment: prices,
  follows: [],
  payloadRows,
  slices: {
    sync: bindSlice(prices, requestDue),
    retry: bindSlice(prices, requestDue),
  },
  plan: async (scope) => await planAsks(prices, scope),
}

function symbolWarnings({ strangeSymbol, currency }: PriceRecord): readonly RecordWarning[] {
  if (strangeSymbol === null) return []
  const detail = `currency_symbol "${strangeSymbol}" is not a symbol of ${currency}, the rooftop's currency`
  return [{ check: 'currency-symbol-disagrees', detail }]
}
