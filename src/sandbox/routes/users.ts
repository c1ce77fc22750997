import { z } from 'zod'
import { type Call, type EndpointTable, fittingBody } from '../call.ts'
import { dealerIds, namedUser } from './requests.ts'

const userListRequest = z.object({
  user: z.string().optional(),
  dealerId: dealerIds.optional(),
  includeInactive: z.boolean().default(false),
})

const byName = new Intl.Collator('en')

/** `/getuserlist` [A §4]. */
export const userEndpoints: EndpointTable = { '/getuserlist': listUsers }

/** Users of the whole dealer group by name, never the generated link-capture accounts. */
function listUsers(call: Call): unknown {
  const { user, dealerId, includeInactive } = fittingBody(userListRequest, call.body)
  const rooftopUids = call.caller.groupRooftops
    .filter((one) => dealerId === undefined || dealerId.includes(one.dealerId))
    .map(({ uid }) => uid)
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
}
