import type { z } from 'zod'
import { getEvaluation, listEvaluations } from '../../api/contract/appraisal/evaluations.ts'
import { type Call, serve } from '../call.ts'
import { entrySecond, fieldsAt, isReadable } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import { renderEvaluation, renderListItem, wrapAtPath } from '../render.ts'
import type { Evaluation } from '../world-types.ts'
import { namedUser, rejectDateStrings, rooftopsNamed } from './requests.ts'

/** Completed evaluations of the dealer group whose EntryDate lies strictly between the bounds. */
export const evaluationList = serve(listEvaluations, (call) => {
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
})

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

/** Completed evaluations of the dealer group by id, VIN or plate; 400 when there is none. */
export const evaluations = serve(getEvaluation, (call) => {
  const request = call.fields
  requireUser(call, request.user)
  const { world, caller, now, rendering } = call
  const groupUids = caller.groupRooftops.map(({ uid }) => uid)
  const found = candidates(call, request).filter(
    (evaluation) => groupUids.includes(evaluation.rooftopUid) && isReadable(evaluation, now),
  )
  if (found.length === 0) throw new Refusal(400, 'Evaluation not found')
  return found.map((evaluation) => renderEvaluation(world, evaluation, rendering, now))
})

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
