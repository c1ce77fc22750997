/** A process that uses a key. */
export interface Member {
  readonly id: string
  /** Calls in flight or waiting. */
  readonly demand: number
}

/** How many of the `cap` calls in flight each member may have, in the given order. Each gets at least 1, so the sum exceeds `cap`
 *  only when there are more members than that. Members with low demand leave the rest to others; what remains is divided evenly.
 *  The result does not depend on the order of the members. */
export function sharesOf(cap: number, members: readonly Member[]): number[] {
  const shares = new Map(members.map(({ id }) => [id, 1]))
  let left = cap - members.length
  const byNeed = members.toSorted((a, b) => a.demand - b.demand || (a.id < b.id ? -1 : 1))
  for (const [at, { id, demand }] of byNeed.entries()) {
    const fair = Math.max(0, Math.floor(left / (members.length - at)))
    const more = Math.min(fair, Math.max(0, demand - 1))
    shares.set(id, 1 + more)
    left -= more
  }
  for (const [at, { id }] of byNeed.entries()) {
    const more = Math.max(0, Math.floor(left / (members.length - at)))
    shares.set(id, shares.get(id)! + more)
    left -= more
  }
  return members.map(({ id }) => shares.get(id)!)
}
