import { listUsers } from '../../api/contract/appraisal/evaluations.ts'
import { serve } from '../call.ts'
import { namedUser, rooftopsNamed } from './requests.ts'

const byName = new Intl.Collator('en')

/** Users of the whole dealer group by name, never the generated link-capture accounts [A §4 /getuserlist]. */
export const users = serve(listUsers, (call) => {
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
})
