import type { Call } from '../call.ts'
import { Refusal } from '../refusal.ts'
import type { Salesperson } from '../world-types.ts'

/** The dealership ids of a `dealerId` that fits its schema: a string that holds a JSON array [A §4]. */
export function idsIn(dealerId: string | undefined): number[] | undefined {
  return dealerId === undefined ? undefined : JSON.parse(dealerId)
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
