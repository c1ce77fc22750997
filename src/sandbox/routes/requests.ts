import type { Call } from '../call.ts'
import { findSample } from '../find-vehicle.ts'
import { isCreated, isVanished } from '../lifecycle.ts'
import { Refusal } from '../refusal.ts'
import type { Evaluation, Rooftop, Salesperson } from '../world-types.ts'

// What several operations read from a request.

type Asked = Pick<Call, 'world' | 'caller' | 'now'>

/** The evaluation at any stage; undefined when it does not exist or has vanished. */
function existing({ world, now }: Asked, evalId: number): Evaluation | undefined {
  const evaluation = world.evaluation(evalId)
  if (evaluation === undefined || !isCreated(evaluation, now)) return undefined
  return isVanished(evaluation, now) ? undefined : evaluation
}

function isOfGroup({ caller }: Asked, { rooftopUid }: Evaluation): boolean {
  return caller.groupRooftops.some(({ uid }) => uid === rooftopUid)
}

/** The evaluation at any stage, if it is of the caller's dealer group and has not vanished. */
export function groupEvaluation(call: Asked, evalId: number): Evaluation | undefined {
  const evaluation = existing(call, evalId)
  return evaluation !== undefined && isOfGroup(call, evaluation) ? evaluation : undefined
}

/** An evaluation at any stage that the caller may change: 400 when it does not exist, 403 when it is of another dealer group. Every
 *  rooftop of the group may change it, as its managers do. */
export function writableEvaluation(call: Asked, evalId: number): Evaluation {
  const evaluation = existing(call, evalId)
  if (evaluation === undefined) throw new Refusal(400, 'Evaluation not found')
  if (!isOfGroup(call, evaluation))
    throw new Refusal(403, 'The evaluation is of another dealer group')
  return evaluation
}

/** Uses one of the look-ups of the key; samples need none. 429 when none is left today. */
export function takeLookup(
  { service, caller }: Call<unknown>,
  vin: string | null | undefined,
): void {
  const { limits } = service
  if (findSample(vin) !== undefined) return
  if (!limits.take(`lookups ${caller.key.name}`, limits.current.lookupsPerDay))
    throw new Refusal(429, 'The quota of real look-ups of this key is used up for today')
}

/** The rooftops of the caller's dealer group with these dealership ids: a string that holds a JSON array [A §4]; without, all. */
export function rooftopsNamed({ caller }: Asked, dealerId: string | undefined): Rooftop[] {
  const ids: readonly number[] | null = dealerId === undefined ? null : JSON.parse(dealerId)
  return caller.groupRooftops.filter((one) => ids === null || ids.includes(one.dealerId))
}

/** The salesperson of the caller's dealer group by id or e-mail; undefined when there is none. */
export function namedUser(
  { world, caller }: Pick<Call, 'world' | 'caller'>,
  user: string,
): Salesperson | undefined {
  return world.findUser(caller.rooftop.groupId, user)
}

/** 400 for the date strings of the in-app list. */
export function rejectDateStrings(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  // "Do not send from / to date strings" [A §4]: refused, not ignored.
  if (Object.hasOwn(body, 'from') || Object.hasOwn(body, 'to'))
    throw new Refusal(400, 'from / to are not accepted: send startdate and enddate in Unix seconds')
}
