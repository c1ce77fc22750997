import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import { serve } from '../call.ts'
import { fieldsAt, isReadable } from '../lifecycle.ts'
import { priceEvaluation, pricingPayload } from '../price-evaluation.ts'
import { Refusal } from '../refusal.ts'
import { groupEvaluation, takeLookup } from './requests.ts'

/** Prices of a Complete evaluation that has mileage; polls while reasoning is under way use no quota [A §4, §8]. */
export const pricing = serve(getPricing, (call) => {
  const { service, now } = call
  const { evalid, reasoning = false } = call.fields
  const evaluation = groupEvaluation(call, evalid)
  if (evaluation === undefined || !isReadable(evaluation, now))
    throw new Refusal(400, 'Evaluation not found, or not Complete yet')
  const { vin, odometer } = fieldsAt(evaluation, now)
  if (typeof odometer !== 'number') throw new Refusal(400, 'The evaluation has no mileage')
  const isPoll = reasoning && service.reasoning.isRunning(evalid, now)
  if (!isPoll) takeLookup(call, vin)
  return pricingPayload(service, priceEvaluation(service, evaluation, now), now, reasoning)
})
