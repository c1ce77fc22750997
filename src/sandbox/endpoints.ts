import type { Endpoint } from './call.ts'
import { carHistory, pastCarHistory, pastPpsr, ppsrSearch, ppsrWatch } from './routes/checks.ts'
import { evaluationList, evaluations } from './routes/evaluations.ts'
import { imageHero, imageList, imageOrder, imageUpload } from './routes/photos.ts'
import { users } from './routes/users.ts'

/** Every operation that the sandbox serves. */
export const endpoints: readonly Endpoint[] = [
  imageList,
  imageUpload,
  imageOrder,
  imageHero,
  ppsrSearch,
  carHistory,
  pastPpsr,
  pastCarHistory,
  ppsrWatch,
  evaluations,
  evaluationList,
  users,
]
