/** How many of the `cap` calls in flight each member may have, in the given order. Each gets at least 1, so the sum exceeds `cap`
 *  only when there are more members than that. `demand`: calls in flight or waiting. Members with low demand leave the rest to others; what remains is divided evenly.
 *  The result does not depend on the order of the members. */
export function divideCap(
  cap: number,
  members: readonly { readonly memberId: string; readonly demand: number }[],
): number[] {
  const shares = new Map(members.map(({ memberId }) => [memberId, 1]))
  let left = cap - members.length
  const byNeed = members.toSorted(
    (a, b) => a.demand - b.demand || (a.memberId < b.memberId ? -1 : 1),
  )
  for (const [at, { memberId, demand }] of byNeed.entries()) {
    const fair = Math.max(0, Math.floor(left / (members.length - at)))
    const more = Math.min(fair, Math.max(0, demand - 1))
    shares.set(memberId, 1 + more)
    left -= more
  }
  for (const [at, { memberId }] of byNeed.entries()) {
    const more = Math.max(0, Math.floor(left / (members.length - at)))
    shares.set(memberId, shares.get(memberId)! + more)
    left -= more
  }
  return members.map(({ memberId }) => shares.get(memberId)!)
}
