import type { Call } from '../call.ts'
import { isCreated, isVanished } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import type { Evaluation } from '../world-types.ts'

/** An evaluation at any stage that the caller may change: 400 when it does not exist, 403 when it is of another dealer group. Every
 *  rooftop of the group may change it, as its managers do. */
export function writableEvaluation(
  { world, caller, now }: Pick<Call, 'world' | 'caller' | 'now'>,
  evalId: number,
): Evaluation {
  const evaluation = world.evaluation(evalId)
  if (evaluation === undefined || !isCreated(evaluation, now) || isVanished(evaluation, now))
    throw new Refusal(400, 'Evaluation not found')
  if (!caller.groupRooftops.some(({ uid }) => uid === evaluation.rooftopUid))
    throw new Refusal(403, 'The evaluation is of another dealer group')
  return evaluation
}
