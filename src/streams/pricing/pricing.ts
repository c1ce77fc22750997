import { getPricing } from '../../contract/appraisal/pricing.ts'
import { defineEnrichmentStream } from '../stream.ts'
import { daysUntilAgain, duePrices } from './due.ts'
import { normalisePrice, type PriceRecord, pricingContent } from './normalise.ts'
import { observePrices } from './observe.ts'

const name = 'pricing'

/** Pricing AI: prices of complete evaluations with mileage, kept as observations [A §4 /pricingAi/payload/{evalid}]. */
export const pricing = defineEnrichmentStream<PriceRecord>({
  name,
  endpoint: getPricing.name,
  polling: getPricing.follow!,

  // Every region has the pricing AI.
  serves: () => true,
  budget: ({ pricing: { budget } }) => budget,
  due: async (db, rooftop, ask) => await duePrices(db, rooftop, name, ask),

  async read({ services }, rooftop, evalId, { pricing: { reasoning } }, options) {
    const { body, text, date } = await services.call(getPricing, {
      ...options,
      rooftop,
      naturalKey: String(evalId),
      fields: { evalid: evalId, ...(reasoning ? { reasoning } : {}) },
    })
    return { body, text, at: date }
  },

  contentOf: pricingContent,
  normalise: normalisePrice,
  isPending: ({ reasoning }) => reasoning === 'processing',
  warnings: ({ strangeSymbol, currency }) =>
    strangeSymbol === null
      ? []
      : [
          {
            check: 'currency-symbol-disagrees',
            detail: `currency_symbol "${strangeSymbol}" is no sign of ${currency}, the rooftop's currency`,
          },
        ],
  daysUntilAgain,
  load: async (db, rooftop, answers, runId) => await observePrices(db, rooftop, answers, runId),
})
