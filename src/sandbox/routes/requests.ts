import { z } from 'zod'
import type { Call } from '../call.ts'
import { Refusal } from '../refusal.ts'
import type { Salesperson } from '../world-types.ts'

/** `dealerId`: a string that holds a JSON array of dealership ids [A §4]. */
export const dealerIds = z.string().transform((text, context): number[] => {
  const parsed = z.array(z.int()).safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  context.addIssue('has to be a string that holds a JSON array of dealership ids')
  return z.NEVER
})

/** The salesperson that `user` names, by id or email, of the caller's dealer group; undefined when there is none. */
export function namedUser({ world, caller }: Call, user: string): Salesperson | undefined {
  return world.findUser(caller.rooftop.groupId, user)
}

/** 400 for the date strings of the in-app list. */
export function rejectDateStrings(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  // "Do not send from / to date strings" [A §4]: told at once rather than passed over.
  if (Object.hasOwn(body, 'from') || Object.hasOwn(body, 'to'))
    throw new Refusal(400, 'from / to are not taken: send startdate and enddate in Unix seconds')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
