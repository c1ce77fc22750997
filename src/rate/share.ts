/** A process that uses a key. */
export interface Member {
  readonly id: string
  /** Calls in flight or waiting. */
  readonly demand: number
}

/** How many of the `cap` calls in flight each member may have, in the order given: at least 1, more than `cap` together only
 *  where there are more members than that. Who wants little leaves the rest to the others; what nobody wants is dealt out
 *  evenly. Every process comes to the same from the same members, in whatever order it knows them. */
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
