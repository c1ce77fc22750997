import { getPricing } from '../../contract/appraisal/pricing.ts'
import { type Call, serve } from '../call.ts'
import { sampleOf } from '../find-vehicle.ts'
import { fieldsAt, isReadable } from '../lifecycle.ts'
import { priceEvaluation, pricingPayload } from '../price-evaluation.ts'
import { Refusal } from '../refusal.ts'
import type { Evaluation } from '../world-types.ts'

/** Prices of a Complete evaluation that has mileage; polls while reasoning is under way use no quota [A §4, §8]. */
export const pricing = serve(getPricing, (call) => {
  const { world, caller, service, now } = call
  const { evalid, reasoning = false } = call.fields
  const evaluation = world.evaluation(evalid)
  if (
    evaluation === undefined ||
    !isReadable(evaluation, now) ||
    !caller.groupRooftops.some(({ uid }) => uid === evaluation.rooftopUid)
  )
    throw new Refusal(400, 'Evaluation not found, or not Complete yet')
  if (typeof fieldsAt(evaluation, now).odometer !== 'number')
    throw new Refusal(400, 'The evaluation has no mileage')
  const isPoll = reasoning && service.reasoning.isRunning(evalid, now)
  if (!isPoll) takeLookup(call, evaluation)
  return pricingPayload(service, priceEvaluation(service, evaluation, now), now, reasoning)
})

function takeLookup({ service, caller, now }: Call<unknown>, evaluation: Evaluation): void {
  const { limits } = service
  if (sampleOf(fieldsAt(evaluation, now).vin) !== undefined) return
  if (!limits.take(`lookups ${caller.key.name}`, limits.current.lookupsPerDay))
    throw new Refusal(429, 'The quota of real look-ups of this key is used up for today')
}
