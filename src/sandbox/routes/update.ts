import { updateEvaluation } from '../../api/contract/appraisal/creation.ts'
import { type Call, serve } from '../call.ts'
import { fieldsAt, isCompleted } from '../lifecycle.ts'
import { priceEvaluation, pricingPayload } from '../price-evaluation.ts'
import { renderGuide } from '../price-model.ts'
import { Refusal } from '../refusal.ts'
import { type JsonObject, renderEvaluation, valuesAt } from '../render.ts'
import { changesSent, type SentFields } from '../sent-changes.ts'
import type { Evaluation, EvaluationFields } from '../world-types.ts'
import { writableEvaluation } from './requests.ts'

/** The first call completes the evaluation, later ones overwrite; the answer is the appraisal after it [A §3, §4]. */
export const evaluationUpdate = serve(updateEvaluation, (call) => {
  const { world, service, now, rendering, fields } = call
  const { evalid } = fields
  const evaluation = writableEvaluation(call, evalid)
  const completes = !isCompleted(evaluation, now)
  if (completes && fields.km === undefined)
    throw new Refusal(400, 'km: is missing: the call that completes an evaluation needs it')
  const before = fieldsAt(evaluation, now)
  const { currency, groupId } = world.rooftop(evaluation.rooftopUid)!
  const userId = salespersonAfter(call, before, completes)
  const configured = world.configuredFields.of(groupId)
  const changes = changesSent(fields, { before, currency, configured })
  world.edit(evalid, now, { ...changes, userId })
  if (completes) world.complete(evalid, now)
  const after = world.evaluation(evalid)!
  const body = renderEvaluation(world, after, rendering, now)
  placePrices(body, call, after)
  if (completes) service.webhooks.trigger('ON_COMPLETE', evalid)
  return body
})

/** Without `userEmail` the completing call assigns the evaluation to the user linked to the key, if there is one [A §4]. */
function salespersonAfter(
  { world, caller, fields }: Call<SentFields>,
  before: EvaluationFields,
  completes: boolean,
): EvaluationFields['userId'] {
  const { userEmail } = fields
  if (userEmail === undefined)
    return completes ? (caller.key.linkedUserId ?? before.userId) : before.userId
  const user = world.findUser(caller.rooftop.groupId, userEmail.trim())
  if (!user?.active || user.generated || !userEmail.includes('@'))
    throw new Refusal(400, 'userEmail: no active user of the dealer group has this email')
  return user.userId
}

/** Adds the prices after the update. They use no quota, since the document names none [A §7]. GCC prices have the only shape that
 *  is shown [V §2 Price guide result]. */
function placePrices(
  body: JsonObject,
  { service, caller, fields, now, rendering }: Call<SentFields>,
  evaluation: Evaluation,
): void {
  const { pricingAi = false, reasoning = false, gccPriceGuide = false } = fields
  if (!pricingAi && !gccPriceGuide) return
  const priced = priceEvaluation(service, evaluation, now)
  const pricing = pricingAi ? pricingPayload(service, priced, now, reasoning) : undefined
  const hasGuide = gccPriceGuide && caller.key.region === 'GCC'
  const { vehicle, prices, rooftop } = priced
  const gccPricing = hasGuide ? renderGuide(vehicle, prices, rooftop.currency) : undefined
  valuesAt(rendering.wire.updateEval, { pricing, gccPricing }, body)
}
