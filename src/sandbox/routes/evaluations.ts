import type { z } from 'zod'
import {
  getEvaluation,
  listEvaluations,
  listUsers,
} from '../../api/contract/appraisal/evaluations.ts'
import { getPricing } from '../../api/contract/appraisal/pricing.ts'
import { type Call, type Endpoint, serve } from '../call.ts'
import { entrySecond, fieldsAt, isReadable } from '../lifecycle.ts'
import { priceEvaluation, pricingPayload } from '../price-evaluation.ts'
import { Refusal } from '../refusal.ts'
import { renderEvaluation, renderListItem, wrapAtPath } from '../render.ts'
import type { Evaluation } from '../world-types.ts'
import {
  groupEvaluation,
  namedUser,
  rejectDateStrings,
  rooftopsNamed,
  takeLookup,
} from './requests.ts'

/** The operations that read evaluations, their prices and the users. */
export const evaluationEndpoints: readonly Endpoint[] = [
  /** Completed evaluations of the dealer group whose EntryDate lies strictly between the bounds. */
  serve(listEvaluations, (call) => {
    rejectDateStrings(call.sent)
    const { startdate, enddate, user } = call.fields
    const { world, now, rendering } = call
    const rooftopUids = rooftopsNamed(call, call.fields.dealerId).map(({ uid }) => uid)
    let listed = world.listed(rooftopUids, { after: startdate, before: enddate }, now)
    if (user !== undefined) {
      const userId = namedUser(call, user)?.userId
      listed = listed.filter(
        (evaluation) => userId !== undefined && fieldsAt(evaluation, now).userId === userId,
      )
    }
    const items = capped(listed, call.listCap).map((one) => renderListItem(one, rendering, now))
    const body = wrapAtPath(rendering.wire.evalList.items, items)
    return rendering.decoys?.list(body) ?? body
  }),
  /** Completed evaluations of the dealer group by id, VIN or plate; 400 when there is none. */
  serve(getEvaluation, (call) => {
    const request = call.fields
    requireUser(call, request.user)
    const { world, caller, now, rendering } = call
    const groupUids = caller.groupRooftops.map(({ uid }) => uid)
    const found = candidates(call, request).filter(
      (evaluation) => groupUids.includes(evaluation.rooftopUid) && isReadable(evaluation, now),
    )
    if (found.length === 0) throw new Refusal(400, 'Evaluation not found')
    return found.map((evaluation) => renderEvaluation(world, evaluation, rendering, now))
  }),
  /** Users of the whole dealer group by name, never the generated link-capture accounts [A §4 /getuserlist]. */
  serve(listUsers, (call) => {
    const { user, includeInactive = false } = call.fields
    const rooftopUids = rooftopsNamed(call, call.fields.dealerId).map(({ uid }) => uid)
    const wanted = user === undefined ? undefined : namedUser(call, user)
    return call.world.users
      .filter(
        (one) =>
          rooftopUids.includes(one.rooftopUid) &&
          !one.generated &&
          (one.active || includeInactive) &&
          (user === undefined || one === wanted),
      )
      .sort((a, b) => byName.compare(a.name, b.name) || a.userId - b.userId)
      .map(({ name, email }) => ({ Name: name, Email: email }))
  }),
  /** Prices of a Complete evaluation that has mileage; polls while reasoning is under way use no quota [A §4, §8]. */
  serve(getPricing, (call) => {
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
  }),
]

/** Cuts the list without a sign, in its order. */
function capped(listed: readonly Evaluation[], listCap: Call['listCap']): readonly Evaluation[] {
  if (listCap === undefined || listed.length <= listCap.cap) return listed
  if (listCap.order === 'arbitrary') return listed.slice(0, listCap.cap)
  const sign = listCap.order === 'oldest' ? 1 : -1
  const returned = new Set(
    listed
      .toSorted((a, b) => sign * (entrySecond(a) - entrySecond(b) || a.evalId - b.evalId))
      .slice(0, listCap.cap),
  )
  return listed.filter((evaluation) => returned.has(evaluation))
}

/** The call reads on behalf of `user` of the same group; without it, of the user linked to the key, if there is one. */
function requireUser(call: Pick<Call, 'world' | 'caller'>, user: string | undefined): void {
  if (user === undefined) {
    if (call.caller.key.linkedUserId === null)
      throw new Refusal(400, 'user is required: no user is linked to this key')
    return
  }
  if (namedUser(call, user) === undefined)
    throw new Refusal(403, 'user is not of the dealer group of this key')
}

function candidates(
  { world, now }: Pick<Call, 'world' | 'now'>,
  { evalid, vin, reg, registration = reg, state }: z.infer<typeof getEvaluation.fields>,
): Evaluation[] {
  if (evalid !== undefined) {
    const evaluation = world.evaluation(evalid)
    return evaluation === undefined ? [] : [evaluation]
  }
  if (vin !== undefined) return world.withVin(vin, now)
  if (registration === undefined)
    throw new Refusal(400, 'One of evalid, vin, reg or registration is required')
  return world
    .withPlate(registration, now)
    .filter(
      (evaluation) => state === undefined || fieldsAt(evaluation, now).registrationState === state,
    )
}

const byName = new Intl.Collator('en')
